"""What waits for a client: joined it says the same, and weighs the same."""

import itertools

from app.api.answer import Answer
from app.api.pieces import CallPiece, Piece, TextPiece, joined, whole
from app.chat.models import ToolCall
from app.chat.ports import CallBegun, Chance, Ended, Event, FinishReason, Likelihood, Text, Usage
from tests.fakes import FakeGenerator
