"""Refusals in free text: the model says, in its own words, that it cannot or will not answer."""

import re

from driftledger.benchmarks._questions.parsing.text import folded, plain

_CANNOT = (
    r"(?:can't|cannot|can not|couldn't|could not|unable to|not able to|impossible to|not possible to|not allowed to"
    r"|(?:hard|difficult|tough) to|no way to)"
)
_DO = (
    r"(?:determin|tell\b|say\b|answer|identif|confirm|know\b|assist|help\b(?! but)|verif|infer|conclu|decide|judge"
    r"|discern|distinguish|comment\b|fulfil|make out|make a determination|recogni"
    r"|provide (?:an?|the|that|this|any|information)"
    r"|ascertain|specif|guess|be (?:sure|certain)|do (?:that|this|so)\b"
    r"|be (?:definitively |reliably |accurately )?"
    r"(?:determined|told|said|answered|identified|known|inferred|seen from|ascertained))"
)
_MATTER = r"(?:information|context|detail|details|evidence|data|clues)"
_LACKING = r"(?:not enough|insufficient|not sufficient|lacks? (?:the |enough |sufficient )?|too little|no)"

REFUSALS: dict[str, tuple[str, ...]] = {
    "English": (
        rf"\b{_CANNOT} (?:(?:reliably|accurately|really|definitively|possibly|currently|directly|confidently) )?{_DO}",
        r"\bi(?:'m| am) (?:not (?:sure|certain|able|qualified|comfortable|permitted)|unsure|uncertain)\b",
        r"\b(?:i|we) (?:really |honestly |simply )?(?:do not|don't) "
        r"(?:know\b|have (?:enough|sufficient|access|any|the (?:ability|information|necessary)|information)\b)",
        rf"\b{_LACKING} {_MATTER}\b",
        rf"\b(?:does not|doesn't|do not|don't) (?:provide|contain|give|show|include|offer) "
        rf"(?:enough |sufficient |any |the )?{_MATTER}\b",
        r"\b(?:as an ai|as a (?:large )?language model)\b",
        r"\b(?:i have )?no idea\b",
        r"\b(?:it is|it's|this is|that is|answer is|remains) (?:unclear|unknown|uncertain|indeterminable)\b",
        r"\A(?:unknown|unsure|uncertain|undetermined|unclear|indeterminate)[.! ]{0,3}\Z",
        r"\bi (?:must|have to|need to) (?:decline|refuse)\b|\bi (?:decline|refuse) to\b",
        r"\bsorry\b[^.!?\n]{0,40}\b(?:can't|cannot|unable|not able|don't|do not|won't)\b",
    ),
    "Chinese": (
        r"(?:无法|無法|不能|难以|難以)(?:从|根据|從|根據|准确|直接|準確){0,2}[^.!?\n]{0,12}"
        r"(?:确定|判断|回答|得知|辨认|识别|确认|看出|知道|提供|確定|判斷|得出|辨識|識別|確認|推断|推斷)",
        r"不知道|不清楚|不确定|不確定|看不出|没有足够的?信息|沒有足夠的?資訊|信息不足|資訊不足",
    ),
    "Japanese": (
        r"(?:わか|分か|判)(?:りません|らない)|(?:判断|特定|確認|回答|判別|断定)(?:することは|は|が)?(?:でき)(?:ません|ない)",
        r"答えられ(?:ません|ない)|お答えでき|情報が(?:不足|足り|十分では)|できかねます",
    ),
    "Korean": (
        r"(?:알|판단할|확인할|답변할|답할|결정할|식별할) 수 (?:가 )?없|모르겠|모릅니다|정보가 (?:부족|충분하지)",
    ),
    "German": (
        r"\b(?:kann|können|konnte|lässt|läßt)\b[^.!?\n]{0,80}\bnicht\b[^.!?\n]{0,40}"
        r"\b(?:bestimm|beurteil|beantwort|erkenn|sagen|feststell|ermittel|identifizier|helfen|ersichtlich)",
        r"\bweiß (?:ich )?(?:es |das )?nicht\b|\bkeine ahnung\b|\b(?:nicht möglich|unmöglich)\b",
        r"\bnicht (?:genug|genügend|ausreichend)\w{0,2} informationen\b",
    ),
    "French": (
        r"\bne (?:peux|peut|puis|pouvons|sais|permet) pas\b|\b(?:n'est pas possible|impossible (?:de|à))\b",
        r"\bpas (?:assez|suffisamment) d'informations?\b",
    ),
    "Spanish": (
        r"\bno (?:puedo|se puede|podemos|es posible|lo sé|sé|hay (?:suficiente|información)|tengo (?:suficiente"
        r"|información))",
        r"\bimposible (?:de )?(?:saber|determinar|decir)",
    ),
    "Italian": (
        r"\bnon (?:posso|è possibile|si può|lo so|sono in grado|ci sono (?:abbastanza|sufficienti))\b",
        r"\bimpossibile (?:da )?(?:dire|determinare|stabilire|sapere)\b",
    ),
    "Portuguese": (
        r"\bnão (?:posso|é possível|sei|consigo|há informaç|tenho informaç)",
        r"\bimpossível (?:dizer|determinar|saber)\b",
    ),
    "Russian": (
        r"\b(?:невозможно|не могу|не знаю|нельзя (?:определить|сказать|понять)|недостаточно информации|затрудняюсь)",
    ),
    "Dutch": (r"\bkan\b[^.!?\n]{0,60}\bniet\b|\bweet (?:ik )?(?:het )?niet\b|\b(?:niet mogelijk|onmogelijk)\b",),
    "Polish": (r"\bnie (?:mogę|można|wiem|da się|jestem w stanie)\b",),
    "Turkish": (r"belirlenemez|belirleyemem|bilmiyorum|mümkün değil|söyleyemem|cevaplayamam",),
    "Arabic": (r"لا (?:أستطيع|يمكنني|يمكن|أعرف|أعلم|توجد معلومات)|غير قادر",),
    "Hindi": (r"नहीं (?:बता|कह|जान)|पता नहीं|असमर्थ|संभव नहीं",),
    "Vietnamese": (r"\b(?:không thể|không biết|không đủ thông tin)\b",),
    "Indonesian": (r"\btidak (?:dapat|bisa|tahu|mungkin)\b",),
}
"""Language → what models say in it instead of an answer; patterns over :func:`folded`, :func:`plain` text."""

REFUSAL = re.compile("|".join(pattern for patterns in REFUSALS.values() for pattern in patterns))


def is_refusal(text: str) -> bool:
    """Whether the text says that it does not answer. It may still hold an answer; whoever reads looks for that first.

    >>> is_refusal("I'm sorry, but I cannot determine the colour.")
    True
    >>> is_refusal("无法确定")
    True
    >>> is_refusal("A blue truck")
    False
    """
    return REFUSAL.search(folded(plain(text))) is not None
