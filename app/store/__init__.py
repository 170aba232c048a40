"""Chats on disk."""
