"""What an assistant says and a user does not, by language: offers, advice to "you", steps, service phrases."""

from __future__ import annotations

from ccfw.checks.turn_text import table

OFFER = table(
    {
        "English": (
            r"\b(?:happy|glad) to (?:walk|go|talk) (?:you )?through\b",
            r"(?<!if )(?<!hope )\byou can (?:definitely|always|simply|easily)\b",
            r"(?<!i )(?<!we )(?<!just )(?<!to )\bgo ahead and\b",
            r"\bso (?:that )?i can (?:suggest|recommend|tailor|give (?:you|better))\b",
            r"\byour (?:budget|guests?|event|visit|trip|party|venue)\b",
            r"\bare you (?:working with|looking for|planning)\b|\bhere's how\b",
            r"\b(?:i can|i'll|i will|i'd be happy to|let me|happy to|glad to|here to) (?:help|assist|guide|walk) "
            r"you\b(?! (?:lot|guys|all)\b)",
            r"\bif you(?:'d)? (?:want|like|prefer|need),? (?:me to|(?:i can|i could|i'll) (?!tell|give|send|share|"
            r"explain|show|say))\b",
            r"\bi can (?:also )?(?:assist|help with (?:that|this))\b",
            r"\bi(?:'m| am) (?:happy|glad|here) to (?:help|assist)\b|\bhow (?:can|may) i (?:help|assist)\b",
            r"\bhope (?:this|that) helps\b|\bas an ai\b|\bas your assistant\b",
            r"\blet me know if you (?:need|have|want|would)\b(?!.*\b(?:details?|info|information)\b)",
            r"\bfeel free to (?:ask|reach|share)\b|\bdon't hesitate\b|\bis there anything else (?:you|i can)\b",
            r"\bwould you like me to\b|^\W*great question\b|^\W*certainly!",
            r"\bhere (?:are|is)\b(?! (?:my|our|what)\b)[^.?]{0,30}\b(?:steps|tips|ideas|suggestions|plan|options|"
            r"guide|checklist)\b",
            r"\bhere's (?:a|your)\b[^.?]{0,24}\b(?:plan|guide|checklist|list|breakdown)\b",
            r"(?<!should )(?<!can )(?<!could )(?<!if )(?<!do )(?<!when )\bi(?:'d| would)? (?:recommend|suggest|"
            r"advise) (?:you|that you|starting|going|using|keeping|bringing|a|the)\b",
        ),
        "Chinese": (
            r"我建[议議](?:[您你把先]|可以)(?!.*[吗嗎?])|作[为為](?:助手|ai)|[为為]您|[请請]稍[等候]",
            r"[请請][您你]先(?!.*(?:我|[吗嗎?])).*(?:然[后後]|接[着著]|最[后後])",
            r"您(?:希望|打算|想要|方便|需要(?!.*[我吗嗎什?]))|[请請][问問]您",
            r"首先(?!.*(?:我|[吗嗎?])).*(?:然[后後]|最[后後]|接[着著]|其次)",
            r"我(?:可以|能|来|來|很乐意|很樂意)(?:帮|幫|协助|協助)[你您]|很高[兴興](?:[为為]|能)?[你您帮幫]",
            r"有什[么麼](?:可以|能)[帮幫]|希望(?:这|這|以上|对|對).{0,8}(?:帮助|幫助|有用)|以下是",
            r"作[为為]一?[个個]?(?:ai|人工智)|建[议議](?:[你您](?!说|說|的|刚|剛)|先|提前)",
            r"[您你]可以(?:先|考虑|考慮|选择|選擇|尝试|嘗試)(?!.*[吗嗎?])|第一步[,:]",
            r"[随隨][时時](?:告诉我|告訴我|[问問]我)|如果[您你](?:还|還|需要|有)",
        ),
        "Japanese": (
            r"かしこまりました|お困りで(?:しょうか|すか)|ご(?:希望|予算)は|ご連絡ください",
            r"お手伝い(?:(?:いた)?します|できます|できること)(?!か)|お役に立て(?:れば|たら)幸い",
            r"ご案内(?:いた)?します(?!か)|お気軽に|お?(?:すすめ|勧め|薦め)(?:いた)?します(?!か)",
            r"(?:ご質問|ご不明な?点?|お困り).{0,10}(?:あれば|ましたら)",
            r"以下の(?:通り|とおり|手順|点|よう|内容|もの)|まず.{2,40}次に(?!.*か\W*$)|してみてください",
            r"するとよいでしょう|[とが]良いでしょう",
        ),
        "Korean": (
            r"(?<!주)시기 바랍니다|(?:정리|안내|설명|추천|소개)(?:해|하여)? ?드(?:리겠|릴게|립)",
            r"(?:해|어|아) ?보세요(?!.*\?)|(?:준비|확인|전화|연락|선택|고려|참고|문의|방문)하세요[.!]",
            r"어떤 도움이 필요하|도와 ?드(?:리겠|릴게|립|릴까)|무엇을 도와|추천(?:드립니다|드려요|드릴게요|합니다)",
            r"권해 ?드(?:립|려요|리겠)|다음과 같(?:이|은|습)|첫째.{2,60}둘째|도움이 되(?:길|셨)",
            r"궁금한 (?:점|것|게).{0,6}있으(?:시면|면)|언제든(?:지)? (?:말씀|물어|문의)|하시는 것이 좋",
            r"하시면 됩니다|하시는 게 좋(?:습|을 것)",
        ),
        "Thai": (
            r"(?:ดิฉัน|ผม|ฉัน)(?:จะ|ขอ)(?:สรุป|แนะนำ(?!ตัว)|อธิบาย)(?!.*(?:ยังไง|อย่างไร|ไหม|มั้ย|ดี))|ให้คุณทราบ",
            r"ยินดี(?:ช่วย|ให้(?:บริการ|คำ)|ที่จะช่วย)|มีอะไรให้.{0,6}ช่วย|(?:ฉัน|ผม|ดิฉัน|เรา)(?:สามารถ)?ช่วยคุณ|ช่วยคุณได้",
            r"แนะนำให้คุณ|(?:หาก|ถ้า)?คุณ(?:ควร(?!จะบอก)|สามารถ)(?!.*(?:ไหม|มั้ย|หรือเปล่า))|หากคุณ(?:มี|ต้อง)",
            r"หวังว่า.{0,15}(?:ประโยชน์|ช่วย)|ขั้นตอนที่ ?1",
        ),
        "Vietnamese": (
            r"\bgợi ý (?:bạn|anh|chị)\b|\b(?:bạn|anh|chị) (?:có thể|nên) tham khảo\b",
            r"\b(?:tôi|mình|em) (?:có thể|sẽ|rất vui được|sẵn sàng|rất sẵn lòng) (?:giúp|hỗ trợ) (?:bạn|anh|chị|"
            r"quý)\b(?! (?:dâu|rể|chồng|mình|em|họ)\b)(?!.*\b(?:gì|không|sao)\b)",
            r"\bbạn (?:nên|hãy)\b(?!.*(?:\?|\bkhông\b))|\bbạn có thể (?!giúp|chỉ|nói|gợi|tư vấn|cho|giải)(?!.*\?)",
            r"\bnếu bạn (?:cần|muốn|có)|\bhy vọng (?:điều này|những|thông tin)|\brất vui được|\bdưới đây là",
            r"\bbước 1\b|\bthứ nhất\b.*\bthứ hai\b|\bđầu tiên,.*\bsau đó,|^\W*hãy (?!giúp|cho|nói|chỉ)\w+",
        ),
        "Malay": (
            r"^(?!.*(?:\?|\b(?:macam ?mana|gimana|bagaimana|apa|siapa)\b)).*\bsaya (?:akan|boleh) (?:terangkan|"
            r"jelaskan|menjelaskan|senaraikan|huraikan)\b",
            r"(?<!menurut )(?<!kata )(?<!saran )\banda\b(?!.*(?:\?|\b(?:nggak|saya|aku|gue|kami|apa|berapa|mana|"
            r"ya)\b))",
            r"\bberikut (?:cadangan|beberapa)\b",
            r"\bsaya (?:bisa|boleh|dapat|akan|siap|sedia) (?:bantu|membantu|tolong) (?:anda|kamu|awak|kakak|tuan|"
            r"puan)\b",
            r"\byang (?:bisa|boleh|dapat) saya bantu\b",
            r"\bsemoga (?:membantu|bermanfaat|ini|maklumat|info\w*|jawapan|jawaban)\b|\bjangan (?:ragu|segan)\b",
            r"\b(?:anda|kamu|awak) (?:bisa|boleh|sebaiknya|harus|patut|perlu) (?!bantu|tolong|kasih|beri|jelas|"
            r"cakap|bagi|cadang|saran)(?!.*(?:\?|\b(?:apa|berapa|mana|tak)\b))",
            r"\bberikut (?:adalah|ini)\b|\blangkah (?:1|pertama)\b *:",
            r"\bsaya (?:sarankan|menyarankan|cadangkan)\b(?! (?:kat|pada|ke|kepada|sama)\b)",
            r"\bberi ?tahu saya (?:jika|kalau|sekiranya)\b|\bpertama,.*\bkedua,|\bsilakan (?:coba|cuba|hubungi)",
        ),
        "Filipino": (
            r"\b(?:matutulungan|tutulungan|tulungan) kita\b|\bhanda akong tumulong\b",
            r"\bano ang (?:maitutulong|maipaglilingkod) ko",
            r"\b(?:maaari|pwede|puwede|dapat) (?:mo|mong|kang|ninyong|po kayong)\b(?!.*(?:\bba\b|\?))",
            r"\binirerekomenda ko|\biminumungkahi ko|\bnarito ang\b",
            r"\bsana(?:'y)? (?:ay )?(?:makatulong|nakatulong)|\bkung may (?:tanong|iba ka)|\buna,.*\bpangalawa,",
            r"\bhuwag kang mag-?atubili",
        ),
        "Tamil": (
            r"வழிகாட்டுகிறேன்|விளக்குகிறேன்|(?<!சொல்ல)ுங்கள்[^?]*(?<!சொல்ல)ுங்கள்|உங்களுக்கு உதவ(?! வேண்டும்)|உதவ முடியும்",
            r"உதவட்டுமா|பரிந்துரைக்கிறேன்|நீங்கள்(?!.*எனக்கு).{0,40}(?:லாம்|வேண்டும்)(?!.*\?)|இதோ சில",
            r"உதவியாக இருக்கும் என(?:்று)? நம்பு|தயங்காமல் கே",
        ),
    }
)
