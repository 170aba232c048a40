"""Case 26: bytes that never become a character, at the window, in the store and in API answers."""

import json
from dataclasses import replace

import pytest

from app.chat.ports import ChatMessage
from app.sampling import Sampling
from app.wire import FinishReason
from tests.api.harness import read_stream
from tests.cases.playing import play
from tests.cases.whole import GREEDY, answers, open_tabs, scripted, served, until
from tests.gui.conftest import Drive
from tests.gui.desk import close_desk, open_desk
from tests.played_model import Made
from tests.scripted_children import Script, run
