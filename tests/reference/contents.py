"""Texts that are tokenised for the comparison with llama-tokenize."""

CONTENTS = {
    "words and spaces": " Hello world,  how   are you today? I've they'll WE'RE don't 'tis it's   ",
    "lines": "\none\n\ntwo\r\nthree\n\n\nfour\t\ttabs\n \n\n\n\n",
    "numbers and code": "3 33 333 33333.50 1,000,000 0x1F -7 1e-9\ndef f(x):\n    return {'a': [x**2 for x in range(10)]}"
    "  # done\n\n\tif (a&&b) { c->d(); }\n<b>bold</b> &amp; **md** `code`",
    "alphabets": "F\u00fc\u00dfe, na\u00efve, e\u0301 o\u0308, \u0141\u00f3d\u017a, \u0130stanbul; Привет, как дела? Γειά σου "
    "Κόσμε; مرحبا بالعالم، עברית שָׁלוֹם; नमस्ते दुनिया สวัสดีชาวโลก தமிழ்",
    "east asia and emoji": "你好，世界！这是一个测试。龍 日本語のテキスト、カ\u3099とカタカナ 안녕하세요 세계 😀 👨\u200d👩\u200d👧 🇫🇷 ✈\ufe0f 🦙🦙",
    "odd": "zero\u200bwidth \u00a0nbsp \u2028line \ufeffbom \ufffd \x01\x02\x7f "
    + "a" * 200
    + "Donaudampfschiff" * 5,
    "control texts": "<|im_end|> <s></s> [INST] <|endoftext|> <bos> <|eot_id|> <pad> <unk> <mask> [CLS] </think>",
    "half control texts": "<|im_ end|> < s> [IN ST] <|end oftext|> |im_start|>",
}
"""By a name that the result uses."""
