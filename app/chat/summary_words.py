"""The words around a summary: what the model is asked when it is to write one, and how it is shown one.

In English, for every model knows that; the summary itself is in the language of the conversation.
"""

INSTRUCTION = """\
Now write a summary of our whole conversation so far, in the language of the conversation. It will stand in place of \
the messages above when the conversation goes on, so keep what is needed for that: what I want, facts, names, numbers, \
decisions, and what is still open. If a summary of earlier messages stands above, take over what still matters of it. \
Do not answer any question and do not add anything new. Write plain text of at most {words} words, and nothing but the \
summary."""
"""`words` is how long it may be."""

OPENING = "[The beginning of our conversation is not shown any more. This is a summary of it:]\n\n"
CLOSING = "\n\n[End of the summary. From here on the conversation is shown word for word.]"
