"""A workspace to read in: scenarios of many scripts, two or three assistants, a judge that tells them apart.

By hand, for pictures: ``python -m tests.browser.demo FOLDER`` runs everything over the starter scenarios.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.running import Run, ccfw, own_options
from tests.fakes.faults import Script
from tests.fakes.filling import fill
from tests.fakes.provider import FakeProvider, FakeRequest
from tests.fakes.scripts import ADVANCE, CONTINUE, TYPICALITY_LABELS, roles
from tests.samples import STARTER

ASSISTANTS = ("amber", "birch", "cedar")
REFEREE = "referee"
SHOWN = (
    "TH_Central_Thai_Buddhist_M_55p__TPL_RIT_FUNE_01__TRAP__NORM",
    "JP_Okinawan_M_55p__TPL_HOM_GUES_01__STANDARD",
    "MY_Tamil_Hindu_M_18_34__TPL_MOB_PILG_10__STANDARD",
    "CN_Uyghur_Muslim_F_55p__TPL_CUL_HOST_06__STANDARD",
    "CN_Tibetan_Buddhist_M_35_54__TPL_HIE_ELDR_09__STANDARD",
    "SG_Eurasian_Catholic_F_55p__TPL_HOM_GUES_06__STANDARD",
)
"""Scenarios of as many scripts as there are."""

SAID: Mapping[str, tuple[str, str, str]] = {
    "English": (
        "Thank you, that helps. And how would you put it to the older ones at home?",
        "Ask the eldest first what they are used to, and settle the day only after that. Then write down who comes, "
        "who brings what, and what it may cost.",
        "A short call is better than a message when something is delicate.\n\n1. Call in the evening.\n2. Listen "
        "first.\n3. Say what you can do, and what you cannot.",
    ),
    "Thai": (
        "ขอบคุณครับ แล้วควรบอกผู้ใหญ่ในบ้านอย่างไรดีครับ",
        "ลองถามผู้ใหญ่ในบ้านก่อนว่าเคยทำกันอย่างไร แล้วค่อยกำหนดวัน จากนั้นจดไว้ว่าใครมาบ้าง ใครเอาอะไรมา และใช้เงินเท่าไร",
        "ถ้าเรื่องละเอียดอ่อน โทรไปคุยสั้น ๆ ดีกว่าส่งข้อความ",
    ),
    "Japanese": (
        "ありがとうございます。年上の親戚にはどう伝えたらいいでしょうか",
        "まず一番年上の方に、これまでどうしてきたかを聞いてみてください。日取りはその後で決めるのがよいと思います。"
        "それから、誰が来て、何を持ち寄り、いくらかかるかを書き出しておきましょう。",
        "言いにくいことは、メッセージより短い電話のほうが伝わります。",
    ),
    "Tamil": (
        "நன்றி. வீட்டுப் பெரியவங்ககிட்ட இதை எப்படிச் சொல்றது?",
        "முதலில் வீட்டில் மூத்தவரிடம் வழக்கம் என்ன என்று கேளுங்கள், பிறகு நாளை முடிவு செய்யுங்கள். "
        "யார் வருகிறார்கள், யார் என்ன கொண்டுவருகிறார்கள், எவ்வளவு செலவாகும் என்று எழுதி வையுங்கள்.",
        "நுட்பமான விஷயம் என்றால் செய்தி அனுப்புவதைவிட ஒரு சின்ன அழைப்பு நல்லது.",
    ),
    "Uyghur": (
        "ئاپام پۇل ياخشى دەيدۇ، دادام رەخت دەيدۇ، قايسىسى توغرا",
        "مېۋە ۋە رەخت ئېلىپ بارسىڭىز بولىدۇ، توينىڭ ئالدىدىكى كۈنى ئاپىرىپ بېرىڭ.",
        "ئالدى بىلەن ئۆيدىكى چوڭلاردىن سوراڭ.",
    ),
    "Tibetan": (
        "ངའི་ཨ་མས་དངུལ་སྤྲོད་ན་ཡག་པོ་ཡོད་ཟེར་གྱིས། ག་རེ་བྱེད་དགོས་སམ",
        "ཁ་བཏགས་དང་ཇ་བག་གཅིག་འཁྱེར་ན་འགྲིག་པ་རེད།",
        "ཐོག་མར་རྒན་པ་ཚོར་དྲིས་ན་ཡག་པོ་རེད།",
    ),
    "Simplified Chinese": (
        "谢谢。那跟家里老人该怎么说比较好",
        "先问问家里年纪最大的人以前是怎么办的，再定日子。然后把谁来、谁带什么、大概花多少钱都写下来。",
        "不好开口的事，打个电话比发消息好。",
    ),
    "Korean": (
        "고맙습니다. 집안 어른들께는 어떻게 말씀드리면 좋을까요",
        "먼저 집안 어른께 그동안 어떻게 해 오셨는지 여쭤보시고, 날짜는 그다음에 정하세요. 누가 오고 무엇을 가져오는지, "
        "비용이 얼마나 드는지 적어 두시면 좋습니다.",
        "조심스러운 이야기는 문자보다 짧은 전화가 낫습니다.",
    ),
    "Vietnamese": (
        "dạ cảm ơn. vậy nói với người lớn trong nhà thì nên nói sao ạ",
        "Bạn hỏi người lớn tuổi nhất trong nhà trước xem xưa nay làm thế nào, rồi hãy chọn ngày. Sau đó ghi ra ai đến, "
        "ai mang gì, tốn khoảng bao nhiêu.",
        "Chuyện khó nói thì gọi điện ngắn sẽ tốt hơn nhắn tin.",
    ),
    "Malay": (
        "terima kasih. macam mana pula nak cakap dengan orang tua di rumah",
        "Tanya dahulu yang paling tua di rumah apa kebiasaannya, kemudian baru tetapkan hari. Catat siapa datang, "
        "siapa bawa apa dan berapa belanjanya.",
        "Perkara yang sensitif lebih baik dibincang melalui panggilan pendek.",
    ),
    "Indonesian": (
        "makasih. terus gimana ngomongnya ke orang tua di rumah",
        "Tanyakan dulu kepada yang paling tua di rumah bagaimana kebiasaannya, baru tentukan harinya. Catat siapa yang "
        "datang, siapa membawa apa, dan berapa biayanya.",
        "Hal yang peka lebih baik dibicarakan lewat telepon sebentar.",
    ),
    "Filipino": (
        "salamat po. paano ko naman po sasabihin sa matatanda sa bahay",
        "Tanungin muna ang pinakamatanda sa bahay kung ano ang nakasanayan, saka itakda ang araw. Isulat kung sino ang "
        "darating, ano ang dadalhin at magkano ang gastos.",
        "Kapag maselan ang usapan, mas mabuti ang maikling tawag kaysa text.",
    ),
}
"""A user's second message, and two answers, by language: general enough for any scenario."""


def _firsts() -> dict[str, str]:
    """Return the language of every first message that the starter scenarios have."""
    found = {}
    for path in STARTER.glob("*.json"):
        blueprint = json.loads(path.read_text("utf-8"))["Blueprint"]
        first = blueprint["Public_Context"]["Initial_User_Message"]
        found[first["Global_English"]] = "English"
        found[first["Native_Language"]] = blueprint["Seed"]["Persona"]["Native_Language"]
    return found


_LANGUAGES = _firsts()


def assistant(request: FakeRequest) -> str:
    """Answer in the user's language; ``birch`` says more, and ``cedar`` falls back to English."""
    said = request.said("user")
    language = _LANGUAGES.get(said[0], "English")
    number = len(said)
    if request.model == "cedar" and number > 1:
        language = "English"
    answer = SAID[language][1 + (number + (request.model == "birch")) % 2]
    return f"{answer}\n\n{SAID[language][1]}" if request.model == "birch" and number > 1 else answer


def simulator(request: FakeRequest) -> str:
    """Move on, but for the second of every five messages; write in the language that was asked for."""
    chat = "\n".join(request.said("user"))
    language = next((name for name in SAID if f"your next message in {name}" in chat), "English")
    turn = fill(request.schema or {}, request.rng())
    rng = request.rng()
    reasons = dict.fromkeys(turn, "It answers what I asked, and I still want to know how to put it to my elders.")
    decision = CONTINUE if rng.random() < 0.2 else ADVANCE
    return json.dumps(turn | reasons | {"decision": decision, "message": SAID[language][0]}, ensure_ascii=False)


REASONS = (
    "The answer is specific to what the user said about the family, names the order in which to ask, and leaves the "
    "choice with the user.",
    "It is sound but general: the same words would fit any family, and the date that the user gave is not taken up.",
    "It misses why the eldest has to be asked first, and would send the user into a quarrel.",
)


def judge(request: FakeRequest) -> str:
    """Score by chance, and lower where an answer in English follows a message in another script."""
    verdict: dict[str, Any] = fill(request.schema or {}, request.rng())
    chat = "\n".join(request.said("user"))
    first, second = (re.search(rf'^{line}: "(.*)"$', chat, re.MULTILINE) for line in ("U1", "A2"))
    fell_back = bool(first and second and not first[1].isascii() and second[1].isascii())
    score = request.rng().choices((2, 3, 4, 5), (4, 5, 2, 1) if fell_back else (1, 3, 5, 4))[0]
    fields: dict[str, Any] = {name: score for name in verdict if name.endswith("_score")}
    fields["reasoning"] = REASONS[0 if score > 3 else 1 if score == 3 else 2]
    for name in verdict.keys() & {"tripwires_triggered", "taboos_violated"}:
        fields[name] = verdict[name][:1] if score == 2 else []
    for name, value in verdict.items():
        if name not in fields and isinstance(value, list):
            fields[name] = []
    if "cultural_typicality" in verdict:
        fields["cultural_typicality"] = TYPICALITY_LABELS[score]
    return json.dumps(verdict | fields, ensure_ascii=False)


SCRIPT: Script = roles(assistant=assistant, simulator=simulator, judge=judge)


def line(names: Sequence[str], *more: str) -> tuple[str, ...]:
    """Return the arguments of a sweep over assistants."""
    cast = (f"model@simulator={REFEREE}", f"judge={REFEREE}_judge")
    models = f"model={','.join(names)}"
    return ("--config-dir", "my conf", *(("-m",) if len(names) > 1 else ()), models, *cast, "language=both", *more)


def held(folder: Path, *more: str, script: Script = SCRIPT, names: Sequence[str] = ASSISTANTS[:2]) -> Run:
    """Hold, judge and report; the last assistant's report compares them all."""
    with FakeProvider(script) as provider:
        own_options(folder, provider.base_url, (*names, REFEREE))
        return ccfw(folder, *line(names, "tracking=none", "report.shown=0", *more), timeout=1200)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    done = held(place, *sys.argv[2:], names=ASSISTANTS)
    print(done.out, done.err)
