"""What an answer may look like: a grammar as plain numbers, and what follows it token by token.

The text worker makes grammars (`app.text.grammar`); the engine, which holds no text, gets them as numbers.  Pure.
"""
