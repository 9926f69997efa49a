"""Refusals in free text: the model says, in its own words, that it cannot or will not answer."""

import re

from driftledger.benchmarks._questions.parsing import clauses
from driftledger.benchmarks._questions.parsing.text import folded, plain

REFUSALS: dict[str, tuple[str, ...]] = {
    "Chinese": (
        r"(?:无法|無法|不能|难以|難以)(?:从|根据|從|根據|准确|直接|準確){0,2}[^.!?\n]{0,12}"
        r"(?:确定|判断|回答|得知|辨认|识别|确认|看出|知道|提供|確定|判斷|得出|辨識|識別|確認|推断|推斷)",
        r"(?:没有|未|不能|無法|无法)(?:提供|显示|顯示|给出|給出|说明|提及)|看不(?:清|见|到|出)|没有视觉能力|太模糊|不知道|不清楚|不确定|不確定|看不出|没有足够的?信息|沒有足夠的?資訊"
        r"|信息不足|資訊不足",
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
        r"\bgeht (?:[^.!?\n]{0,60} )?nicht hervor\b|\bnicht (?:zu erkennen|erkennbar|ersichtlich|zu sehen|lesbar"
        r"|bekannt|feststellbar)\b",
        r"\bweiß (?:ich )?(?:es |das )?nicht\b|\bkeine ahnung\b|\b(?:nicht möglich|unmöglich)\b",
        r"\bnicht (?:genug|genügend|ausreichend)\w{0,2} informationen\b",
    ),
    "French": (
        r"\b(?:image|photo) ne (?:donne|montre|fournit|contient|précise|permet|dit|indique) pas\b",
        r"\bne (?:peux|peut|puis|pouvons|sais|permet) pas\b|\b(?:n'est pas possible|impossible (?:de|à))\b",
        r"\bpas (?:assez|suffisamment) d'informations?\b",
    ),
    "Spanish": (
        r"\b(?:imagen|foto) no (?:muestra|proporciona|indica|da|contiene|ofrece|dice|especifica)\b",
        r"\bno (?:puedo|se (?:puede|ve|aprecia|distingue|sabe)|podemos|es posible|lo sé|sé|hay (?:suficiente"
        r"|información)|tengo (?:suficiente"
        r"|información))",
        r"\bimposible (?:de )?(?:saber|determinar|decir)",
    ),
    "Italian": (
        r"\b(?:immagine|foto) non (?:mostra|fornisce|indica|contiene|dice)\b",
        r"\bnon (?:posso|è possibile|si può|lo so|sono in grado|ci sono (?:abbastanza|sufficienti))\b",
        r"\bimpossibile (?:da )?(?:dire|determinare|stabilire|sapere)\b",
    ),
    "Portuguese": (
        r"\b(?:imagem|foto) não (?:fornece|mostra|indica|contém|dá|diz)\b",
        r"\bnão (?:posso|é possível|sei|consigo|há informaç|tenho informaç)",
        r"\bimpossível (?:dizer|determinar|saber)\b",
    ),
    "Russian": (
        r"\b(?:невозможно|не могу|не знаю|нельзя (?:определить|сказать|понять)|(?:определить|сказать|понять"
        r"|узнать) нельзя|неизвестно|не видно|недостаточно информации|затрудняюсь)",
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

_REFUSAL = re.compile("|".join(pattern for patterns in REFUSALS.values() for pattern in patterns))


def refused_at(low: str, *, denials: bool = True) -> list[int]:
    """Where refusals end in :func:`folded`, :func:`plain` text; none where an answer follows them.

    ``denials``: whether to say that something is not in the image refuses.
    """
    return sorted([*clauses.refuses(low, denials=denials), *(match.end() for match in _REFUSAL.finditer(low))])


def is_refusal(text: str) -> bool:
    """Whether the text says that it does not answer. It may still hold an answer; whoever reads looks for that first.

    >>> is_refusal("I'm sorry, but I cannot determine the colour.")
    True
    >>> is_refusal("无法确定")
    True
    >>> is_refusal("A blue truck")
    False
    """
    return bool(refused_at(folded(plain(text))))
