"""The words around an answer, language by language: what announces it, joins it to another, or takes it back.

Patterns over :func:`~driftledger.benchmarks._questions.parsing.text.folded`, :func:`.text.plain` text. Every repetition
is bounded, and what a pattern points at is read by whoever uses it, right after the match.
"""

import re

from driftledger.benchmarks._questions.parsing.text import SYMBOL, WORD


def _any(*parts: str) -> str:
    return f"(?:{'|'.join(parts)})"


def _compiled(table: dict[str, tuple[str, ...]]) -> re.Pattern[str]:
    return re.compile("|".join(pattern for patterns in table.values() for pattern in patterns))


_IS = _any(
    *("is", "are", "was", "(?:would|should|must|has to|will|could|might|may) be", "(?:seems|appears) to be"),
    *("most likely is", "ist", "lautet", "wäre", "est", "serait", "es", "sería", "è", "é", "seria", "jest", "to", "hi"),
)
_SURELY = _any(*("clearly", "definitely", "probably", "most likely", "likely", "therefore", "thus", "hence", "indeed"))
_COPULA = rf"(?: {_IS}\b(?: {_SURELY}\b)?)?"
_BEST = _any(*("final", "correct", "right", "best", "selected", "chosen", "my", "your", "most appropriate", "first"))
_PICK = _any(
    *("option", "choice", "alternative", "letter", "pick", "selection", "guess", "bet", "match", "description")
)
_HEADING = _any(
    *("choice", "selection", "pick", "assistant", "response", "output", "prediction", "result", "solution"),
    *("conclusion", "verdict", "correct"),
)

ANSWERS: dict[str, tuple[str, ...]] = {
    "English": (
        r"\b(?:answers?|ans)\b(?: (?:choice|option|letter)s?\b)?"
        rf"(?: (?:to|for) (?:the|this|your) question)?{_COPULA}",
        rf"\b{_BEST} {_PICK}{_COPULA}",
        rf"\b{_HEADING} ?:",
        r"\b(?:i|let's|let us)(?:'d| would| will|'ll|'m| am)? "
        r"(?:choos(?:e|ing)|pick(?:ing)?|select(?:ing)?|opt(?:ing)? for|go(?:ing)? with|lean(?:ing)? (?:towards?"
        r"|to))\b",
        r"\b(?:option|choice|letter|one)(?: (?:that|which|of) [\w ,']{1,60}?)? is\b",
        rf"\bthe (?:right|correct|best|true) one{_COPULA}",
        r"\bleav(?:es|ing)(?: us with| only| just)?\b",
        r"\bby (?:a |the )?(?:process of )?elimination\b",
        r"\bchang(?:e|ing) (?:my|the) answer to\b",
    ),
    "Chinese": (
        r"(?:正确|正確)?(?:答案|选项|選項|回答|答(?=:))(?:应该|應該|应|就)?(?:是|为|為|选|選)?",
        r"(?:选择|選擇|选|選)(?!项|項)",
    ),
    "Japanese": (r"(?:答え|正解)は?",),
    "Korean": (r"(?:정답|답변?)(?:은|는)?",),
    "Spanish": (rf"\b(?:respuesta(?: correcta)?|opción correcta){_COPULA}", r"\b(?:elijo|escojo)\b"),
    "German": (rf"\bantwort{_COPULA}", r"\bich wähle\b"),
    "French": (rf"\b(?:bonne )?r[ée]ponse(?: correcte)?{_COPULA}", r"\bje choisis\b"),
    "Italian": (rf"\brisposta(?: corretta)?{_COPULA}", r"\bscelgo\b"),
    "Portuguese": (rf"\bresposta(?: correta)?{_COPULA}", r"\bescolho\b"),
    "Russian": (r"\bответ\b(?: (?:это|будет))?", r"\bя выбираю\b"),
    "Dutch": (rf"\bantwoord{_COPULA}", r"\bik kies\b"),
    "Polish": (rf"\bodpowiedź{_COPULA}", r"\bwybieram\b"),
    "Arabic": (r"(?:الإجابة|الجواب)(?: الصحيحة)?(?: هي| هو)?",),
    "Hindi": (r"उत्तर(?: है)?",),
    "others": (r"\b(?:cevap|jawaban(?:nya)?|svar(?:et)?|válasz|odpověď|đáp án(?: đúng)?(?: là)?)\b",),
}
"""Announce an answer: ``The correct answer is``, ``答案是``, ``I choose``."""
ANSWER = _compiled(ANSWERS)

FINALS: dict[str, tuple[str, ...]] = {
    "English": (rf"\bfinal (?:answer|choice|decision)\b{_COPULA}",),
    "LaTeX": (r"\\boxed ?\{",),
    "a tag": (r"<(?:final_)?answer>",),
    "JSON": (r"[\"'](?:(?:final|correct|selected|predicted)_?)?(?:answer|choice|option|letter)[\"'] ?:",),
    "Chinese": (r"(?:最终|最終|最后|最後)的?答案(?:是|为|為)?",),
    "Japanese": (r"最終(?:的な)?(?:回答|答え)は?",),
    "others": (rf"\b(?:respuesta final|réponse finale|endgültige antwort|risposta finale|resposta final)\b{_COPULA}",),
}
"""Announce an answer that outranks what was weighed before it."""
FINAL = _compiled(FINALS)

_SUBJECT = _any(*("it", "that", "this", "these", "those", "there", "they", "he", "she"))
_MAY_BE = _any(
    "'s", "'re", " (?:is|are|was|were)", " (?:must|has to|should|would) be", " (?:could|might|may)(?: also)? be"
)
_SEEMS = _any(" seems? to be", " appears? to be", " looks? like")
STATEMENTS: dict[str, tuple[str, ...]] = {
    "of the picture": (
        rf"\b{_SUBJECT}(?:{_MAY_BE}|{_SEEMS})\b(?: (?:{_SURELY}|also)\b)?",
        r"\b(?:image|picture|photo|photograph|scene) (?:shows|depicts|contains|features)\b",
        r"\bi (?:can )?see\b(?! (?:the|an?) letter\b)",
        r"\b(?:(?:correspond|point|lead)(?:s|ing)? to|match(?:es|ing)?|(?:align|agree)s? with|fits|which is)\b",
    ),
    "of the speaker": (
        r"\bi(?:'d| would| will|'ll)? (?:think|believe|guess|say|lean towards?)\b(?: that)?"
        r"(?: (?:it|this|that)(?:'s| is| would be))?",
        r"\b(?:best|educated) guess\b(?: is| would be)?",
        r"\bif (?:i|we) (?:had|have|were forced|must) (?:to )?(?:choose|pick|guess|answer|decide)\b",
        r"\b(?:definitely|certainly|clearly|probably|most likely|surely|obviously|maybe|perhaps|possibly)\b",
        r"\b(?:so|thus|hence|therefore)\b",
    ),
    "in other languages": (
        r"\b(?:es|c'est|es ist|das ist|это|è|é|jest to)\b",
        r"(?:应该|應該|可能|就|这|這|那|我认为|我觉得|图中)是",
    ),
}
"""Say something of the picture, or what the speaker thinks: weaker than announcing an answer."""
STATEMENT = _compiled(STATEMENTS)

NOUN = re.compile(
    r"(?:the |la |le |l'|el |die |der |de |a |o )?"
    r"(?:(?P<noun>option|choice|letter|alternative|opción|opcion|opção|opzione|lettre|letra|lettera|buchstabe|optie"
    r"|opcja"
    r"|вариант|буква|选项|選項|選択肢|보기)|answer|antwort|number)(?:\b|(?<=[项項肢기]))[ :]{0,2}"
    r"|(?:la|el|a|die) (?=[(\"']?[a-z]\b)"
)
"""May stand between an announcement and a letter: ``option``, ``la``. Behind a ``noun`` stands no article."""

NOT = re.compile(
    r"(?: ?(?:is|would be|can|could|be|ist|es|est|n'est|è|é))? ?"
    r"(?:n't be|isn't|not|can't be|cannot be|cannot|nicht|pas|no es|no|non è|non|não é|não|не является|не|nie|niet"
    r"|不是|并非|不)(?:\b|(?<=[是非不]))"
)
"""Where an answer was announced, takes it back."""

BUT = re.compile(r"\b(?:but|rather|instead|sondern|sino|mais|ma|mas|а|но|maar|lecz)\b(?: rather)?|而是")
"""After :data:`NOT`, announces what is meant instead."""

HOWEVER = re.compile(
    r"\b(?:but|however|though|although|nevertheless|still|aber|pero|mais|ma|mas|но|maar)\b|但|不过|でも|が、"
)
"""After a refusal, begins an answer all the same."""

NEGATION = re.compile(
    r"\b(?:not|never|neither|nor|no|without|hardly|unlikely|unable|cannot|nicht|kein\w{0,2}|weder|pas|jamais|non|não"
    r"|не|ни"
    r"|nie|niet|geen)\b|n't\b|不|没有|並非|并非"
)
"""Before a statement, in its clause: it is denied."""

UNREAL = re.compile(
    r"\b(?:whether|unless|suppose|assum(?:e|ing)|used to|no longer|were (?:it|he|she|they|there)|had it"
    r"|doubt|hard to say|wenn|ob|falls|si|se|если)\b"
    r"|\bif\b(?! (?:i|we|you|one|forced|pressed|necessary)\b)"
    r"|\b(?:cannot|can't|couldn't|could not|not possible to|unable to) (?:say|tell|determine|confirm|know|be sure)\b"
    r"(?: for sure| with certainty)?(?: that| if| whether| it| ?$)"
    r"|\b(?:you|one|some|many|most|they|people|others)(?: people| models| would| might| may| could| will| often){0,3} "
    r"(?:think|thinks|thought|say|says|said|argue|believe|choose|pick|guess|answer)\b"
    r"|如果|是否"
)
"""Before a statement, in its sentence: it is only imagined."""

_FALSE = _any(*("not", "wrong", "incorrect", "false", "out", "eliminated", "excluded", "impossible", "unlikely"))
_FALSIFIED = _any(
    rf"(?:is|are|was|would be|seems?|looks?|appears?)(?: to be)?(?: \w{{1,12}})? (?:{_FALSE}|ruled out)\b",
    r"(?:is|was|does|do|can|could|would|has|are)n't\b|can ?not\b|can't\b|(?:does|do|is|are) not\b",
    r"(?:can|could|may|must) be (?:ruled out|excluded|eliminated|discarded|rejected)",
    r"(?:wrong|incorrect|not)\b",
    *(r"ist (?:nicht|falsch)", r"n'est pas", r"est (?:fau(?:x|sse)|incorrecte?)", r"no es", r"es (?:incorrect|fals)"),
    *(
        r"non è",
        r"não é",
        r"не\b",
        r"(?:选项|選項)?(?:不|错|錯|並非|并非)",
        r"(?:では|じゃ)(?:ない|ありません)",
        r"は間違",
    ),
    r"(?:이|가) 아니",
)
WRONG = re.compile(rf"[)\]\"']{{0,2}} ?(?:\([^()\n]{{0,80}}\) ?)?(?:[:-] ?(?:wrong|incorrect|false|no)\b|{_FALSIFIED})")
"""After a statement: it is denied."""

_OR = _any(
    "(?i:and/or|and|or|nor|then|through|as well as|und|oder|ou|et|или)",
    *("y", "o", "e", "и"),
    *("及", "和", "或者", "或", "与", "與", "跟", "以及", "と", "か", "または", "および", "또는", "와", "과"),
)
ALSO = re.compile(
    rf"[)\]}}\"'.:]{{0,3}} ?(?P<joined>(?:[,/&+;|→]|-+>|{_OR})(?: (?:and|or|then|maybe|perhaps|possibly|also))? ?)?"
    r"[(\[\"']{0,2}"
)
"""Joins an answer to another. Over text with its case: ``e`` may join, but ``E`` is an option."""

RIGHT = _any(
    r"(?:is|seems|looks|appears|(?:would|must|should|has to) be)(?: to be)?(?: clearly| definitely)?"
    r"(?: the)?(?: only| most| best| right| correct)?"
    r" (?:correct|right|true|best|answer|accurate|appropriate|one|the one|likely|plausible|probable|suitable)\b",
    r"(?:fits|matches|works|applies|remains|is left|is consistent with|can be (?:right|correct|true))\b",
    *("ist (?:richtig|korrekt|die)", "est (?:la bonne|correcte?)", "es (?:la|el|correct)", "è (?:la|corrett)"),
    "(?:选项|選項)?是?(?:正确|正確|对的|對的)",
)
"""After a letter: it is the answer."""

REASON = _any(
    *("because", "since", "as", "based", "given", "due", "considering", "rather", "and not", "but", "while"),
    *("weil", "denn", "da", "parce", "car", "porque", "ya que", "perché", "pois", "потому", "так как", "omdat"),
    *("ponieważ",),
)
"""After a letter: its reason begins. No noun or adjective, which would make an article of ``a``."""

WHERE = re.compile(r"[)\]}\"']{0,3} (?:in|for|from|on|at|with|which|that|according)\b")
"""After an announced letter: as :data:`REASON`. Where nothing announces it, ``A in the picture`` is a part of it."""

_ENDING = _any("です", "だと", "だ(?!け)", "である", "입니다", "이다", "选项", "選項", "项", "項")
CLOSED = re.compile(
    _any(
        rf"[)\]}}>\"'|]{{0,3}}(?: ?(?:$|[\n.,;:!?)\]}}<|/$]|{SYMBOL}|-(?= )|{_ENDING})"
        rf"|[ ,]{{0,2}}(?:{REASON}\b|因为|因為|理由|{RIGHT}))",
    )
)
"""After a letter: it stood for itself, and was no article and no part of a name."""

LINKED = re.compile(rf" (?:(?:and|or|und|oder|ou|et|&|y|o) )?[(\"']?[a-z](?!{WORD}|['.+-]{WORD})")
"""After a letter: another; so that if that is one, both are."""

EXPLANATION = re.compile(
    r"^(?:(?:explanations?|reasons?|reasoning|rationale|justification|because|why|details|analysis|erklärung|begründung"
    r"|explicación|explication|объяснение|解释|解析|理由|原因|说明|解説|설명)\b[^\n]{0,60}$"
    r"|(?:explanation|reason(?:ing)?|rationale|justification|解释|解析|理由|原因) ?:)",
    re.MULTILINE,
)
"""A line after which options are discussed, no longer chosen."""

SENTENCE_END = re.compile(r"[.!?](?=[ \n]|$)|[\n;]")
_CLAUSE_END = re.compile(r",|:")
BACK = 160
"""How many characters before an answer are looked at."""


def taken_back(low: str, start: int) -> bool:
    """Whether what begins at ``start`` is denied or only imagined by the words before it."""
    sentence = _after_last(BUT, _after_last(SENTENCE_END, low[max(0, start - BACK) : start]))
    return bool(UNREAL.search(sentence) or NEGATION.search(_after_last(_CLAUSE_END, sentence)))


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    end = 0
    for match in pattern.finditer(text):
        end = match.end()
    return text[end:]


_NOT_MINE = (
    r"\b(?:wrong|incorrect|false|worst|bad|least \w{1,12}|sample|example|previous|earlier|old|first|initial|rejected"
    r"|eliminated|not the|not an|possible|alternative|other|another)"
)
NOT_CONCLUDED = re.compile(rf"{_NOT_MINE}\b|\b(?:reads?|says?|shows?|text|letter|grade|sign|label)\b")
NOT_MINE = re.compile(rf"{_NOT_MINE}(?: \w{{1,12}})? ?$|\b(?:for example|for instance|e\.g\.)[,:]? ?$")
"""Before an announcement: what it announces is not the answer."""

AT_FIRST = re.compile(
    r"\b(?:at first(?: glance| sight)?|initially|originally|previously|first (?:i|say|said|thought)|(?:would"
    r"|'d) first|earlier)\b"
)
"""In a clause: what it says held only until something else was said."""

MAYBE = re.compile(r"(?:\b(?:may|might|could|maybe|perhaps|possibly|possible)\b|可能)[^.;\n]{0,40}$")
"""Before an answer: it is only one that is possible."""

_INSTEAD = _any(
    *(
        "no",
        "wait",
        "sorry",
        "actually",
        "correction",
        "(?:or )?rather",
        "i meant?",
        "on (?:second thought|reflection)",
        "(?:scratch|strike|forget|cancel) that",
        "i was wrong",
        "my (?:mistake|bad)",
    ),
    *(
        "let me correct (?:myself|that)",
        "make (?:it|that)",
        "on closer (?:look|inspection)",
        "hmm",
        "oops",
        "now",
        "finally",
    ),
)
CORRECTION = re.compile(
    rf"[)\]\"']{{0,2}}[ \n.,;:!?…(-]{{1,6}}(?:but )?\b{_INSTEAD}\b(?:[ ,.:;!?-]{{1,4}}(?:but )?{_INSTEAD}\b){{0,3}}"
    rf"[ ,.:;!?-]{{1,4}}(?:(?:it|that|this|the (?:right |correct )?answer|it's|that's)(?: {_IS})? )?"
)
"""After an answer: what follows is meant instead, if it is one."""

RETRACTION = re.compile(
    r"[)\]\"']{0,2}[ .,;:!?…-]{1,6}(?:(?:wait|hmm|sorry|actually|on (?:reflection|second thought))[ ,.:!-]{1,3})?"
    r"(?:no|scratch that|(?:that|this|it)(?:'s| is| was) (?:wrong|incorrect|not right|not correct|false|a mistake)"
    r"|也可能不是?)[.! ]{0,3}(?:$|\n)"
)
"""After an answer: it is taken back, and nothing is put in its place."""

ANOTHER = re.compile(
    r"也可能|\b(?:is|are|could|may|might)(?: be)? also (?:be )?(?:possible|right|correct|plausible|true)\b"
)
"""After an answer: there is another beside it."""
