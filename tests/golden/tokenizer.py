#!/usr/bin/env python3
"""Trains two small tokenizers with Hugging Face's `tokenizers` 0.23.3 and writes, for
tests/runtime/data/test_tokenizer.c, into tokenizer/ beside this file, or the folder of the second argument:

words.json      split as GPT-2, a space put before a text, added tokens of all sorts
pieces.json     split as cl100k, NFC, digits apart, a template, whole words first
ranks.tiktoken  the tokens of words.json as tiktoken's ranks (`tiktoken` 0.14.0)
ids.jsonl       [text, ids of words.json, of pieces.json, of ranks.tiktoken, text of words.json's first half]

    tokenizer.py [STRINGS [FOLDER [VOCABULARY.tiktoken]]]

The number of strings is 100, and 10,000 is what docs/tokenizers.md reports. The last argument takes the place of the
ranks: openai-whisper's package has two such files. Strings are of characters of Unicode 14, which Python 3.11 and
PCRE2 10.42 have; later ones are letters for some of these programs, and not for others.
U+09FE is left out: it is of Unicode 11, and the tables of `tokenizers` for normal forms are older."""
import base64, json, pathlib, random, sys, unicodedata
import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 100
FOLDER = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent / "tokenizer"
CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
SENTENCES = [
    "The train leaves at 7:45, doesn't it? We'll be there, and they've been told.",
    "A gradient is a sum over the whole batch; its norm was 0.00123 in step 1048576.",
    "for (int i = 0; i < n; i++)\n    sum += x[i] * w[i];  // a dot product\n\n\treturn sum;",
    "El tren sale a las siete y media. ¿Dónde está el andén número 12? ¡Allí!",
    "Der Zug fährt um Viertel vor acht ab; die Straße ist naß, sagte sie.",
    "Le garçon a déjà mangé l'œuf à la crème, n'est-ce pas ?",
    "Поезд отправляется в семь часов сорок пять минут с третьего пути.",
    "Το τρένο φεύγει στις επτά παρά τέταρτο από την αποβάθρα τρία.",
    "列车七点四十五分从三号站台出发，请不要忘记您的行李。",
    "電車は七時四十五分に三番線から出ます。カタカナとひらがなもあります。",
    "기차는 일곱 시 사십오 분에 삼번 승강장에서 출발합니다.",
    "القطار يغادر الساعة السابعة وخمس وأربعين دقيقة من الرصيف الثالث.",
    "הרכבת יוצאת בשעה שבע ארבעים וחמש מרציף שלוש.",
    "ट्रेन सात बजकर पैंतालीस मिनट पर तीसरे प्लेटफ़ॉर्म से चलती है।",
    "รถไฟออกเวลาเจ็ดโมงสี่สิบห้านาทีจากชานชาลาที่สาม",
    "Chuyến tàu khởi hành lúc bảy giờ bốn mươi lăm từ sân ga số ba.",
    "Tren saat yediyi kırk beş geçe üçüncü perondan kalkıyor; İstanbul'a gidiyor.",
    "🚂 leaves 🕖, bring 👩🏽‍🔬 & 🇩🇪🇫🇷 😀😀",
    "x² + y² = z², ½ · ⅓ ≠ ⅙, Ⅻ, ①②③, ٣٤٥, 一二三",
    "e\u0301 is \u00e9, \ufb01 is fi, \u212b is \u00c5, \u1e9b\u0323",
]
BLOCKS = [(0x20, 0x7f), (0xa0, 0x180), (0x180, 0x250), (0x300, 0x370), (0x370, 0x400), (0x400, 0x500), (0x530, 0x600),
          (0x600, 0x700), (0x900, 0xa00), (0xe00, 0xe80), (0x10a0, 0x1100), (0x1100, 0x1200), (0x1680, 0x16a0),
          (0x1800, 0x18b0), (0x1e00, 0x2000), (0x2000, 0x2070), (0x2150, 0x2190), (0x3000, 0x3100), (0x4e00, 0x9fff),
          (0xac00, 0xd7a4), (0xfb00, 0xfb50), (0xff00, 0xfff0), (0x10400, 0x10450), (0x1d400, 0x1d800),
          (0x1f300, 0x1f650), (0x20000, 0x20100)]
SPECIAL = ["<|endoftext|>", "<|start|>", "<mask>", "<  >", "word", "\u00e9t\u00e9"]
SPACES = [" ", "  ", "\n", "\r\n", "\t", "   \n  ", "\u00a0", "\u2003", "\u3000", "\u0085", "\u180e", "\u200b", "\x1c"]


def strings(rng, count):
    """Pieces of sentences and runs of characters of a block or two, with spaces and added tokens between them."""
    found = [""] + SENTENCES
    while len(found) < count:
        parts = []
        for _ in range(rng.randint(1, 6)):
            kind = rng.random()
            if kind < 0.4:
                s = rng.choice(SENTENCES)
                a = rng.randrange(len(s))
                parts.append(s[a:a + rng.randint(1, 40)])
            elif kind < 0.75:
                low, high = rng.choice(BLOCKS)
                run = [chr(rng.randrange(low, high)) for _ in range(rng.randint(1, 12))]
                parts.append("".join(c for c in run if unicodedata.category(c) not in ("Cn", "Cs") and c != "\u09fe"))
            elif kind < 0.9:
                parts.append(rng.choice(SPACES))
            else:
                parts.append(rng.choice(SPECIAL[:5]))
        found.append("".join(parts))
    return found


def train(t, size):
    t.train_from_iterator(SENTENCES * 3, trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    t.decoder = decoders.ByteLevel()
    return t


def words():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    train(t, 700)
    t.add_special_tokens([SPECIAL[0], AddedToken(SPECIAL[2], lstrip=True, special=True)])
    t.add_tokens([AddedToken(SPECIAL[3], rstrip=True), AddedToken(SPECIAL[4], single_word=True)])
    t.post_processor = processors.ByteLevel()
    return t


def pieces():
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(CL100K), "removed", invert=True), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    train(t, 700)
    t.add_special_tokens(SPECIAL[:2])
    t.add_tokens(SPECIAL[5:])
    ids = [(s, t.token_to_id(s)) for s in SPECIAL[:2]]
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single="<|start|> $A <|endoftext|>", special_tokens=ids)])
    return t


def ranks_of(t):
    """The vocabulary of words.json in the order of its numbers: bytes, and then merges."""
    alphabet = {c: b for b, c in spelling().items()}
    vocab = sorted(json.loads(t.to_str())["model"]["vocab"].items(), key=lambda v: v[1])
    return {bytes(alphabet[c] for c in token): i for i, (token, _) in enumerate(vocab)}


def spelling():
    shown = [b for b in range(256) if 33 <= b <= 126 or (b >= 161 and b != 173)]
    rest = [b for b in range(256) if b not in shown]
    return {b: chr(b) for b in shown} | {b: chr(256 + i) for i, b in enumerate(rest)}


def main():
    FOLDER.mkdir(exist_ok=True)
    w, p = words(), pieces()
    (FOLDER / "words.json").write_text(w.to_str() + "\n")
    (FOLDER / "pieces.json").write_text(p.to_str() + "\n")
    if len(sys.argv) > 3:
        text = pathlib.Path(sys.argv[3]).read_bytes()
        ranks = {base64.b64decode(t): int(r) for t, r in (line.split() for line in text.splitlines() if line)}
    else:
        ranks = ranks_of(w)
        text = b"".join(base64.b64encode(t) + b" %d\n" % r for t, r in ranks.items())
    (FOLDER / "ranks.tiktoken").write_bytes(text)
    e = tiktoken.Encoding("ranks", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={SPECIAL[0]: len(ranks)})
    with open(FOLDER / "ids.jsonl", "w") as f:
        for s in strings(random.Random(5), COUNT):
            ids = w.encode(s).ids
            row = [s, ids, p.encode(s).ids, e.encode(s, allowed_special="all"), w.decode(ids[:(len(ids) + 1) // 2])]
            print(json.dumps(row, ensure_ascii=False, separators=(",", ":")), file=f)


main()
