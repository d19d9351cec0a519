#!/usr/bin/env python3
"""Writes what sacrebleu 2.6.0 and openai-whisper 20250625 make of sentences of this script, into text_metrics/ beside
this file, or the folder of the second argument, for tests/runtime/text/test_text_metrics.c:

pairs.jsonl       [hypothesis, reference], several scripts, some of them empty
scores.jsonl      [first pair, last pair, BLEU, chrF2] of ranges of pairs, with the defaults of sacrebleu's classes
normalised.jsonl  [text, basic, basic with remove_diacritics and split_letters, English without a list of spellings]

    text_metrics.py [STRINGS [FOLDER]]

The number of strings is 500, and of pairs two fifths of that. Characters are of Unicode 14, which Python 3.11 has."""
import importlib.util, json, pathlib, random, sys, types
from sacrebleu.metrics import BLEU, CHRF
# The package itself needs PyTorch, which its normalizers do not.
whisper = types.ModuleType("whisper")
whisper.__path__ = importlib.util.find_spec("whisper").submodule_search_locations
sys.modules["whisper"] = whisper
from whisper.normalizers import BasicTextNormalizer, EnglishTextNormalizer

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 500
FOLDER = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent / "text_metrics"
SENTENCES = [
    "The train leaves at 7:45, doesn't it? We'll be there, and they've been told.",
    "A gradient is a sum over the whole batch; its norm was 0.00123 in step 1,048,576.",
    "He said \"no\" - twice - and left (without his coat) at half past nine.",
    "Prices rose by 3.5% to $1,299.99 in the first quarter &amp; fell again.",
    "The well-known rule holds for i<n, x>=0 &lt; and 50-60 cases/day...",
    "El tren sale a las siete y media. ¿Dónde está el andén número 12? ¡Allí!",
    "Der Zug fährt um Viertel vor acht ab; die Straße ist naß, sagte sie.",
    "Le garçon a déjà mangé l'œuf à la crème, n'est-ce pas ?",
    "Поезд отправляется в семь часов сорок пять минут с третьего пути.",
    "Το τρένο φεύγει στις επτά παρά τέταρτο. ΟΔΟΣ ΑΘΗΝΑΣ, ΣΤΑΣΗ Σ.",
    "列车七点四十五分从三号站台出发，请不要忘记您的行李。",
    "電車は七時四十五分に三番線から出ます。カタカナとひらがなもあります。",
    "기차는 일곱 시 사십오 분에 삼번 승강장에서 출발합니다.",
    "القطار يغادر الساعة السابعة وخمس وأربعين دقيقة من الرصيف الثالث.",
    "ट्रेन सात बजकर पैंतालीस मिनट पर तीसरे प्लेटफ़ॉर्म से चलती है।",
    "รถไฟออกเวลาเจ็ดโมงสี่สิบห้านาทีจากชานชาลาที่สาม",
    "Pociąg odjeżdża o siódmej czterdzieści pięć; łódź płynie później.",
    "İstanbul'da ılık bir gün; ĐURĐA i ÞÓR sáu ﬁne №5 ½ cup x² ①.",
]
SPOKEN = (
    "i you he we they won't can't let's ain't y'all wanna gotta gonna i'ma imma woulda coulda shoulda ma'am mr mrs st dr "
    "prof capt gov ald gen sen rep pres rev hon asst assoc lt col jr sr esq he'd she's they're we'll don't it's i've i'm "
    "been gone done got hmm mm mhm mmm uh um [noise] <unk> (laughs) (a b] mr. u.s. 3.14 $5 £2.50 €0.07 ¢ % $ . , - ' "
    "house train half a and dog 1960s 2nd 3 rd 100 1,000 5 % 10% b2b 007 1.0 2.50 .5 0 1 1s $0.5 café naïve Zürich "
    "colour the of").split()
NUMBERS = (
    "o oh zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion decillion "
    "zeroth first second third fourth fifth sixth eighth nineth ninth twelfth thirteenth twentieth ninetieth hundredth "
    "thousandth ones twos sixes nines tens twenties hundreds millions minus negative plus positive pound pounds euro euros "
    "dollar dollars cent cents per percent and double triple point").split()


def spoken(rng):
    words = []
    while len(words) < rng.randrange(1, 22):
        kind = rng.random()
        if kind < 0.4:
            words += [rng.choice(SPOKEN)]
        elif kind < 0.9:
            words += rng.choices(NUMBERS, k=rng.randrange(1, 6))
        elif kind < 0.95:
            words += [rng.choice(["and a half", "per cent", "two and a half", "and  a half and a half", "point five"])]
        else:
            words += [str(rng.randrange(10 ** rng.randrange(1, 8)))]
    text = "".join(w + rng.choice([" "] * 9 + ["  ", ", ", ". ", "-", " '"]) for w in words)
    return rng.choice([text, text.strip(), text.upper(), text.capitalize()])


def mixed(rng):
    parts = [rng.choice(SENTENCES) for _ in range(rng.randrange(1, 3))]
    text = rng.choice([" ", "\n", " [x] ", "\t"]).join(parts)
    return rng.choice([text, text, text.upper(), text[rng.randrange(len(text)):]])


def hypothesis(rng, reference):
    words = reference.split(" ")
    for _ in range(rng.randrange(5)):
        if not words:
            break
        i = rng.randrange(len(words))
        change = rng.randrange(5)
        if change == 0:
            del words[i]
        elif change == 1:
            words.insert(i, rng.choice(words))
        elif change == 2:
            words[i] = words[i].lower()
        elif change == 3:
            words[i] = words[i][:-1] + rng.choice(["", ".", ",", "-", "5", "<skipped>"])
        else:
            rng.shuffle(words)
    return rng.choice([" ".join(words)] * 12 + ["", "a", rng.choice(SENTENCES)])


def main():
    rng = random.Random(1)
    FOLDER.mkdir(exist_ok=True)
    write = lambda name, rows: (FOLDER / name).write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    references = [mixed(rng) if rng.random() < 0.95 else rng.choice(["", " ", "."]) for _ in range(COUNT * 2 // 5)]
    pairs = [[hypothesis(rng, r), r] for r in references]
    ranges = [[0, len(pairs)]] + [[i, i + n] for n in (1, 2, 7) for i in range(0, len(pairs) - n, 3)]
    bleu, chrf = BLEU(), CHRF()
    score = lambda metric, a, b: metric.corpus_score([h for h, _ in pairs[a:b]], [[r for _, r in pairs[a:b]]]).score
    write("pairs.jsonl", pairs)
    write("scores.jsonl", [[a, b, score(bleu, a, b), score(chrf, a, b)] for a, b in ranges])
    texts = [spoken(rng) if i % 5 else mixed(rng) for i in range(COUNT - 2)] + ["", " "]
    plain, split, english = BasicTextNormalizer(), BasicTextNormalizer(True, True), EnglishTextNormalizer()
    english.standardize_spellings.mapping = {}
    write("normalised.jsonl", [[t, plain(t), split(t), english(t)] for t in texts])


main()
