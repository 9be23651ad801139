"""Words of greeting, thanking and asking, by language."""

from __future__ import annotations

import re

from ccfw.checks.text import straighten
from ccfw.checks.turn_issue import UserTurn
from ccfw.checks.turn_text import LATIN, patterns, pieces, table

ENDING = 30
"""Letters at an answer's end in which its question must show: further back stand clauses that only speak of one."""

_GREETING = table(
    {
        "English": (
            r"\W*(?:hi|hello|hiya)\b(?![- ]?(?:tea|so|speed)\b)",
            r"\W*good (?:morning|afternoon|evening)\b(?! (?:is|to|or|mass|prayers?)\b)",
            r"\W*(?:greetings|hey there|dear (?:ai|assistant|sir))\b",
        ),
        "Chinese": (r"\W*(?:[你您]好(?![像多几幾久奇厉厲])|大家好|哈喽|哈囉|早安|早上好|下午好|晚上好|嗨)",),
        "Japanese": (r"\W*(?:こんにちは|こんばんは|おはよう|はじめまして)",),
        "Korean": (r"\W*안녕(?:하세요|하십니까|!|,|$)",),
        "Thai": (r"\W*(?:สวัสดี(?!ปีใหม่)|หวัดดี)",),
        "Vietnamese": (r"\W*(?:xin chào|chào (?:bạn|anh|chị|em|ad|mọi người)\b)",),
        "Malay": (r"\W*(?:halo|hai|helo)\b|\W*ass?alamu ?'?alaikum|\W*selamat (?:pagi|siang|sore|malam|petang)\b",),
        "Filipino": (r"\W*k[ua]musta(?: po| ka)*(?:[!,.?]|$)|\W*magandang (?:umaga|hapon|gabi|araw)\b(?! ba\b)",),
        "Tamil": (r"\W*(?:வணக்கம்|ஹலோ|ஹாய்)",),
    }
)

_QUESTION = table(
    {
        "English": (r"\?|\b(?:what|wat|how|when|where|which|who|why|should|shud|is it|is that|do i|can i|could i)\b",),
        "Chinese": (
            r"[吗嗎呢]|什么|什麼|怎么|怎麼|怎样|咋|哪|几|幾|多少|[谁誰]|为什么|為什麼|要不要|是不是|能不能|如何",
        ),
        "Japanese": (r"か(?:な|ね)?[。?]?$|何|どう|どこ|いつ|誰|いくら|どれ|どの",),
        "Korean": (r"까요?|나요|가요|뭐|무엇|뭘|어떻게|어디|언제|몇|얼마|누가|어떤",),
        "Thai": (r"ไหม|มั้ย|อะไร|ยังไง|อย่างไร|เท่าไ|ที่ไหน|เมื่อไ|กี่|ใคร|หรือเปล่า|รึเปล่า",),
        "Vietnamese": (r"\b(?:gì|sao|nào|đâu|bao nhiêu|mấy|thế nào|khi nào)\b|\b(?:không|chưa)\b(?: ạ| vậy)?[?]?$",),
        "Malay": (
            r"\b(?:apa|bagaimana|gimana|macam ?mana|berapa|mana|kapan|bila|siapa|kenapa|perlukah)\b",
            r"\b(?:ke|nggak|gak|tak)\b(?=\W*$|,)",
        ),
        "Filipino": (r"\b(?:ano|anong|paano|pano|magkano|saan|kailan|sino|ba|bakit|ilan|alin)\b",),
        "Tamil": (r"என்ன|எப்படி|எங்கே|எப்போது|எத்தனை|எவ்வளவு|யார்|எந்த|எது|மா\W*$",),
    }
)

_STRONG = {
    "English": r"thanks?|thank (?:you|u)|thx|ty|tysm|bye|cheers|appreciate[d]?|take care|that's all|see (?:you|ya)",
    "Chinese": r"谢谢|多谢|感谢|謝謝|多謝|感謝|再见|再見|拜拜",
    "Japanese": r"ありがとう|助かりました|助かります|失礼します|またね|お世話になりました",
    "Korean": r"감사|고마워|고맙|수고하세요|안녕히",
    "Thai": r"ขอบคุณ|ขอบใจ|ลาก่อน|บาย",
    "Vietnamese": r"cảm ơn|cám ơn|tạm biệt|bye",
    "Malay": r"terima kasih|makasih|trims|tq|bye|jumpa lagi|sampai jumpa",
    "Filipino": r"salamat|paalam|bye|ingat",
    "Tamil": r"நன்றி|பை",
}
_FILLERS = {
    "English": r"ok(?:ay)?|got it|noted|great|cool|perfect|nice|really|again|so much|a lot|very|much|awesome|good|"
    r"night|day|"
    r"this|that(?:'s)?|helps?|helped|helpful|is|was|it|for|your|the|all|everything|you(?:'re| are)?|best|a|have|one|"
    r"lifesaver|will do|alright|sounds|and|i|am|i'm|so|now|everyone|evening",
    "Chinese": r"好的|好|嗯|行|明白|知道|收到|了解|辛苦|没问题|沒問題|太|就|我|去忙|这样|這樣|[你您的啦了哦喔哈呀先]|"
    r"非常|帮忙|幫忙|帮助|幫助|真的|那",
    "Japanese": r"ございま(?:す|した)|どうも|了解|わかりました|分かりました|はい|では|それ|よろしくお願いします|"
    r"です|しました|本当に|とても|大変|すごく|うん|また",
    "Korean": r"합니다|해요|드려요|드립니다|습니다|요|네|넵|알겠|어|좋아|좋네|도움이|됐|정말|너무|진짜|많이|"
    r"덕분에|그럼|잘|계세|되었",
    "Thai": r"มาก|ค่ะ|คะ|ครับ|นะ|จ้า|จ้ะ|โอเค|ได้|เข้าใจ|รับทราบ|ดี|แล้ว|เลย|สวัสดี|อีกครั้ง|จริง|ๆ|เยี่ยม|สำหรับ|คำแนะนำ",
    "Vietnamese": r"nhiều|lắm|dạ|vâng|oke?|ạ|nhé|nha|bạn|anh|chị|em|mình|rồi|hiểu|được|tốt|quá|tuyệt|chào|thế|"
    r"thôi|vậy|rất|"
    r"hữu ích|con|tôi|cháu|vì|đã|giúp|đỡ",
    "Malay": r"banyak|ya|ok(?:e|ay)?|baik(?:lah)?|siap|sip|mantap|oh|sangat|membantu|bantuan(?:nya)?|atas|"
    r"sama-sama|faham|"
    r"paham|mengerti|noted|kak|pak|bang|sekali|lagi|bagus|untuk|semua(?:nya)?|lah|saya|dah|sudah|memang|betul",
    "Filipino": r"maraming|ang|po|sige|ok(?:ay)?|oo|opo|ayos|galing|talaga|sa|tulong|mo|ninyo|nyo|gets|ko|na|ulit|"
    r"naman|lahat|sobra",
    "Tamil": r"மிக்க|மிகவும்|சரி|ரொம்ப|புரிந்தது|ஓகே|உங்கள்|உதவிக்கு|எல்லாம்|நல்லது|சூப்பர்",
}


def _bounded(words: str, language: str) -> str:
    return rf"\b(?:{words})\b" if language in LATIN else f"(?:{words})"


_CLOSING = table({name: (_bounded(words, name),) for name, words in _STRONG.items()})
_POLITE = table({name: (_bounded(f"{_STRONG[name]}|{words}", name),) for name, words in _FILLERS.items()})


def _line(text: str) -> str:
    return straighten(text).casefold()


def greeting(text: str, language: str) -> str | None:
    """Return the greeting that a text begins with."""
    found = (pattern.match(_line(text)) for pattern in patterns(_GREETING, language))
    return next((match.group() for match in found if match), None)


def is_question(text: str, language: str) -> bool:
    """Whether a text asks something, question mark or not."""
    return any(pattern.search(_line(text)) for pattern in patterns(_QUESTION, language))


def asks_back(turn: UserTurn) -> bool:
    """Whether the assistant's last answer ends in a question."""
    return is_question("".join(pieces(turn.answer)[-1:])[-ENDING:], turn.language)


def is_only_thanks(text: str, language: str) -> bool:
    """Whether a text thanks or says goodbye and holds nothing else."""
    rest = _line(text)
    if not any(pattern.search(rest) for pattern in patterns(_CLOSING, language)):
        return False
    for pattern in patterns(_POLITE, language):
        rest = pattern.sub(" ", rest)
    return not re.search(r"\w", rest)
