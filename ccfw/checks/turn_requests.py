"""What a user does not ask for: forms, texts to copy, choices, and facts of its own life (paper G.4)."""

from __future__ import annotations

from collections.abc import Iterator

from ccfw.checks.issue import Finding
from ccfw.checks.turn_issue import Rule, UserTurn, finding
from ccfw.checks.turn_role import lists_items
from ccfw.checks.turn_text import first_match, table
from ccfw.checks.turn_words import is_question

_TEXT = (
    r"(?:messages?|texts?|sms|emails?|letters?|scripts?|speech|notice|wording|invit\w*|note|announcement|caption|reply"
    r"|toast)"
)

_DRAFT = table(
    {
        "English": (
            rf"(?:^|[.!?,]\s*|\b(?:can|could|will|would|pls|please|help me|just|you|u|to me) )(?:you |u |pls |just "
            rf")*(?:write|draft|compose|word|type)(?: (?:me|us|out|up|it|him|her|them))* (?:a|an|the|my|that|this|"
            rf"some)\b[^.?,]{{0,20}}\b{_TEXT}\b",
            rf"\bcome up with (?:an?|the|some)\b[^.?,]{{0,12}}\b{_TEXT}\b",
            rf"\bgive me (?:an?|the|some)\b[^.?,]{{0,20}}\b(?:draft|template|{_TEXT})\b",
            r"\bexact word(?:s|ing)\b",
            r"\bword (?:for|by) word\b",
            r"\b(?:can|could|pls|please) (?:you |u )?(?:draft|rewrite|rephrase)\b",
            r"\bwrite it (?:for|out for) me\b",
            r"\bsend me a draft\b",
        ),
        "Chinese": (
            r"[帮幫替给給]我(?:[写寫拟擬]|起草|编|編)",
            r"[写寫拟擬]一?[段份封条條篇个個].{0,10}(?:话|話|短信|消息|讯息|訊息|信|通知|稿|文案|微信)",
        ),
        "Japanese": (
            r"(?:文面|文章|文例|原稿|スピーチ|メール|台本|例文|手紙)(?:を|の).{0,8}(?:書い|作っ|考え|作成|ください)",
        ),
        "Korean": (
            r"(?:문자|메시지|편지|대본|문구|초안|글|카톡|인사말)(?:를|을)? ?.{0,6}(?:써|작성해?|만들어|적어) "
            r"?(?:줘|주세|주실|줄래|달라)",
        ),
        "Thai": (r"(?:เขียน|ร่าง|แต่ง)(?:ข้อความ|จดหมาย|บท|คำพูด|ประกาศ|อีเมล|คำกล่าว).{0,24}(?:ให้|หน่อย)",),
        "Vietnamese": (
            r"\b(?:viết|soạn|thảo)(?: giúp| hộ| cho| giùm)*(?: em| mình| tôi| anh| chị| con)? ?.{0,12}(?:tin nhắn|"
            r"thư|bài|email|kịch bản|lời)\b",
        ),
        "Malay": (
            r"\b(?:buatkan|buatin|bikinin|tuliskan|tulisin|drafkan|karangkan|tolong (?:tulis|"
            r"buat))\b.{0,24}\b(?:pesan|mesej|surat|teks|ucapan|skrip|pidato|draf|naskah|chat)",
        ),
        "Filipino": (
            r"\b(?:isulat|gawan|igawa|sulatan|gumawa|pagawa|isulat mo)\b.{0,24}\b(?:mensahe|text|sulat|script|"
            r"liham|speech|draft)\b",
        ),
        "Tamil": (r"(?:எழுதி|தயாரித்து)[க்\s]{0,4}(?:தா|தர|கொடு)",),
    }
)
_OPTIONS = table(
    {
        "English": (
            r"\b(?:give|show|list|suggest|provide|send|offer)(?: me| us)? (?:\d|two|three|four|five|a few|several|"
            r"some|a couple of|different|multiple|other|more)\b[^.?,]{0,16}\b(?:options|versions|alternatives|"
            r"choices|ideas|ways|variants|drafts|samples|examples)\b",
            r"\b(?:give|show|list|suggest|send)(?: me| us)? (?:\d|two|three|a few|several|a couple of) different\b",
            r"\boptions? a(?:/|, ?)b\b",
            r"\b(?:any|what are|what other|more) (?:\w+ )?(?:options|alternatives|versions)\b",
        ),
        "Chinese": (
            r"(?:[给給]我?|列|提供|推荐|推薦|出|想).{0,3}[几幾两兩三四五2-5多][个個种種款套条條版].{0,6}(?:选|選|"
            r"方案|版本|建议|建議|备选|主意|点子|例子)",
        ),
        "Japanese": (
            r"(?:いくつか|[2-5２-５二三四五]つ|複数|[2-5二三四五]案|何パターン).{0,12}(?:出し|挙げ|教え|提案|"
            r"ください|ほしい|欲しい)",
        ),
        "Korean": (
            r"(?:몇|세|두|네|여러|[2-5]) ?(?:가지|개)(?:의|만|로|정도)? ?(?:옵션|선택지|버전|안|후보|방법|"
            r"예시)?.{0,6}(?:알려|제안|추천|뽑아|줘|주세요)",
        ),
        "Thai": (
            r"(?:ตัวเลือก|ทางเลือก|เวอร์ชัน)(?:มา)?.{0,8}(?:หลาย|สัก|[2-5]|สอง|สาม)",
            r"(?:ขอ|เสนอ).{0,6}(?:หลาย|สอง|สาม|[2-5]) ?(?:ตัวเลือก|ทางเลือก|แบบ|เวอร์ชัน)",
        ),
        "Vietnamese": (
            r"\b(?:cho|đưa|gợi ý|liệt kê|gửi)\b.{0,16}\b(?:vài|mấy|hai|ba|nhiều|[2-5]) (?:lựa chọn|phương án|mẫu|"
            r"phiên bản|cách|ý tưởng)",
        ),
        "Malay": (
            r"\b(?:kasih|kasi|beri|bagi|berikan|senaraikan|minta|sebutkan|tolong)\b.{0,14}\b(?:beberapa|dua|tiga|"
            r"[2-5]) ?(?:pilihan|opsi|versi|alternatif|contoh|cadangan|idea|ide)",
        ),
        "Filipino": (
            r"\b(?:bigyan|magbigay|pahingi|bigay|magmungkahi)\b.{0,16}\b(?:ilang|dalawang|tatlong|[2-5]|mga)(?: "
            r"na)? (?:opsyon|options?|pagpipilian|bersyon|versions?|halimbawa)",
        ),
        "Tamil": (r"(?:சில|பல|இரண்டு|மூன்று|[2-5]) ?(?:விருப்ப|தேர்வு|மாற்று|யோசனை|வழி).{0,14}(?:கொடு|சொல்|தா)",),
    }
)
_OWN = table(
    {
        "English": (
            r"\b(?:what|how much|where|when)(?:'s| is| was)? my (?:total |own |current )?(?:budget|venue|event|"
            r"wedding|guest list|guest count|address|hometown|religion|faith|name|date)\b(?! (?:enough|going|"
            r"supposed|called))",
            r"\bdo you (?:know|remember) (?:what|when|where|how many|how much)\b.{0,16}\bmy (?:event|budget|venue|"
            r"guests?|wedding)\b",
            r"\bhow many (?:guests|people|kids|children) (?:do|did) i (?:have|invite)\b",
            r"\bis my (?:event|wedding|party|trip) (?:in|on|during)\b|\bwhat do you know about (?:me|my)\b",
            r"\bwho am i\b|\bam i (?:muslim|christian|hindu|buddhist|catholic|married)\b",
        ),
        "Chinese": (
            r"我的?(?:预算|預算|婚期|婚礼|婚禮|地址|场地|場地|名字)是?(?:多少|什[么麼]|几|幾|哪)",
            r"我(?:一共)?[请請]了(?:多少|几|幾)",
        ),
        "Japanese": (r"(?:私|うち|わたし)の(?:予算|会場|日程|住所|式|名前)(?:は|って)(?:いくら|どこ|いつ|何)",),
        "Korean": (r"(?:제|내|우리) ?(?:예산|장소|날짜|주소|결혼식|행사)[은는이가]? ?(?:얼마|어디|언제|뭐|며칠)",),
        "Thai": (
            r"(?:งบ(?:ประมาณ)?|สถานที่|วันงาน|ที่อยู่)(?:ของ)?(?:ฉัน|ผม|เรา|หนู|ดิฉัน)(?:คือ|อยู่|มี)?(?:เท่าไ|ที่ไหน|วันไหน|เมื่อไ|อะไร)",
        ),
        "Vietnamese": (
            r"\b(?:ngân sách|địa điểm|ngày cưới|địa chỉ|tiệc) của (?:tôi|em|mình|anh|chị|con) (?:là )?(?:ở "
            r")?(?:bao nhiêu|đâu|ngày nào|gì|khi nào)",
        ),
        "Malay": (
            r"\b(?:budget|bajet|anggaran|lokasi|tanggal|tarikh|alamat)(?:nya)? (?:saya|gue|aku) (?:itu "
            r")?(?:berapa|di ?mana|kapan|bila|apa)\b",
            r"\bberapa (?:budget|bajet|anggaran) (?:saya|aku)\b",
        ),
        "Filipino": (
            r"\b(?:magkano|ano|saan|kailan)(?: nga| po| ba)* (?:ang|yung) (?:budget|venue|petsa|address|kasal|"
            r"handaan|lugar)(?: ng handa)? ko\b",
        ),
        "Tamil": (r"(?:என்|என்னுடைய|எங்கள்) (?:பட்ஜெட்|இடம்|தேதி|முகவரி).{0,4}(?:எவ்வளவு|எங்கே|எப்போது|என்ன)",),
    }
)
_FORM = table(
    {
        "English": (
            r"_{3,}|\[ *\]|\[(?:name|date|place|time|amount|your [a-z]+)\]|(?:\b[a-z]+: ?[^:|?]{0,20}\|){2}",
            r"\b(?:pls|please|kindly) (?:confirm|fill|complete|specify|indicate|advise on)\b *[:\w]",
            r"\bfill in the (?:blanks?|form)\b|(?:^|\n)(?:[a-z][a-z ]{1,18}: ?[^\n:]{0,30}(?:\n|$)){2}",
            r"(?:\b[a-z]{3,12}: ?[^:,?]{0,16}[,;/] ?){2}\b[a-z]{3,12}:|(?:\?[^?]{4,}){2}\?",
        ),
        "Chinese": (r"[请請](?:确认|確認|填写|填寫)(?:以下)?[:,]?",),
        "Japanese": (r"(?:以下|次の項目)を?ご?(?:確認|記入|回答)|ご確認ください *:",),
        "Korean": (r"(?:다음|아래).{0,8}(?:확인|작성|기입)",),
        "Thai": (r"กรุณา(?:ยืนยัน|กรอก|ระบุ)",),
        "Vietnamese": (r"\b(?:vui lòng|xin) (?:xác nhận|điền)\b",),
        "Malay": (r"\b(?:mohon|sila|harap|tolong) (?:konfirmasi|sahkan|isi|lengkapi)\b *:?",),
        "Filipino": (r"\b(?:paki-?kumpirma|paki-?fill|pakisagutan)\b",),
        "Tamil": (r"உறுதிப்படுத்தவும்|பூர்த்தி செய்",),
    }
)


def form_template(turn: UserTurn) -> Iterator[Finding]:
    """No blanks to fill in and no questionnaire (G.4, *bad patterns*)."""
    found = first_match(_FORM, turn.language, turn.line)
    if found is None and lists_items(turn.message) and is_question(turn.message, turn.language):
        found = turn.message
    if found is not None:
        yield finding(found, "one thought, not a form")


def asks_for_text(turn: UserTurn) -> Iterator[Finding]:
    """Ask what to say, not for a text to copy (G.4, *drafts and scripts*)."""
    if found := first_match(_DRAFT, turn.language, turn.line):
        yield finding(found, "what to say, not a text to copy")


def asks_for_options(turn: UserTurn) -> Iterator[Finding]:
    """Ask for one suggestion (G.4, *options or alternatives*)."""
    if found := first_match(_OPTIONS, turn.language, turn.line):
        yield finding(found, "one suggestion, not several to choose from")


def asks_own_details(turn: UserTurn) -> Iterator[Finding]:
    """Never ask for the budget, date or place that the user itself knows (G.4, *key rule*)."""
    if found := first_match(_OWN, turn.language, turn.line):
        yield finding(found, "advice, not facts of the user's own life")


RULES: tuple[Rule, ...] = (form_template, asks_for_text, asks_for_options, asks_own_details)
