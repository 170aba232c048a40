"""Texts that are tokenised for the comparison with llama-tokenize."""

CONTENTS = {
    "words": "Hello world, how are you today?",
    "spaces": " leading,  double   triple and trailing ",
    "lines": "\none\n\ntwo\r\nthree\n\n\nfour\t\ttabs\n",
    "numbers": "3 33 333 3333 33333.50 1,000,000 0x1F -7 1e-9",
    "code": "def f(x):\n    return {'a': [x**2 for x in range(10)]}  # done\n\n\tif (a&&b) { c->d(); }\n",
    "accents": "Füße, naïve café, e\u0301 o\u0308, Łódź, İstanbul",
    "cyrillic and greek": "Привет, как дела? Γειά σου Κόσμε",
    "chinese": "你好，世界！这是一个测试。龍",
    "japanese": "日本語のテキスト、ガ\u3099とカタカナ",
    "korean": "안녕하세요 세계",
    "arabic and hebrew": "مرحبا بالعالم، نص עברית ניקוד שָׁלוֹם",
    "indic and thai": "नमस्ते दुनिया สวัสดีชาวโลก தமிழ்",
    "emoji": "😀 👨\u200d👩\u200d👧\u200d👦 🇫🇷 ✈\ufe0f 🦙🦙",
    "odd": "zero\u200bwidth \u00a0nbsp \u2028line \ufeffbom \ufffd \x01\x02\x7f",
    "contractions": "I've they'll WE'RE don't 'tis it's",
    "long word": "a" * 200 + "Donaudampfschifffahrtsgesellschaft" * 3,
    "control texts": "<|im_end|> <s></s> [INST] <|endoftext|> <bos> <|eot_id|> <pad> <unk> <mask>",
    "half control": "<|im_ end|> < s> [IN ST] <|end oftext|>",
    "markup": '<b>bold</b> &amp; <a href="x">link</a> **md** `code`',
    "only spaces": "     ",
    "only newlines": "\n\n\n\n",
}
"""By a name that the result uses."""
