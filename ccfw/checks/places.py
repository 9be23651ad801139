"""Names that place a text in one region: institutions found nowhere else, and places and peoples."""

from __future__ import annotations

import re

from ccfw.records import Region

# Left out on purpose: what travels (JAKIM's halal mark, Gojek, Alipay, cards sold to tourists) and short
# names that are words elsewhere (TAP, MoMo, Solo). Short acronyms are matched in capitals only.
_INSTITUTIONS: dict[Region, str] = {
    Region.SG: r"(?i:hdb|cpf|ntuc|posb|medisave|medishield|skillsfuture)|PSLE",
    Region.MY: r"(?i:kwsp|touch '?n'? go|perkeso|socso|tabung haji|mykad)|EPF|UPSR|SPM",
    Region.ID: r"(?i:bpjs|puskesmas|posyandu|kantor urusan agama|kartu keluarga)|KUA|KTP",
    Region.TH: r"(?i:promptpay|amphoe|tambon|wat phra dhammakaya)",
    Region.VN: r"(?i:vneid|vietcombank|h[oộ] kh[aẩ]u)",
    Region.PH: r"(?i:philhealth|pag-?ibig|barangays?|philsys|gcash)",
    Region.CN: r"(?i:hukou|gaokao|meituan)",
    Region.JP: r"(?i:koseki|kuyakusho|shiyakusho|my number card|ch[oō]naikai)",
    Region.KR: r"(?i:jeonse|suneung|kakaopay|jumin center)",
    Region.BN: r"(?i:tabung amanah pekerja|ripas|baiduri|bibd|ugama schools?)",
}

# An underline stands for a blank inside a name.
_PLACES: dict[Region, str] = {
    Region.SG: """
        singapore singaporeans? sg s'pore jurong tampines woodlands bedok toa_payoh geylang
        little_india changi ang_mo_kio bukit_timah yishun punggol sentosa orchard_road katong
        joo_chiat""",
    Region.MY: """
        malaysian? malaysians msia kl kuala_lumpur kuala_terengganu kelantan kelantanese kota_bharu
        terengganu johor jb johor_bahru penang george_?town ipoh perak melaka malacca sabah sarawak
        kuching kota_kinabalu kedah perlis pahang selangor shah_alam petaling_jaya pj putrajaya
        langkawi sibu miri seremban negeri_sembilan kuantan klang alor_setar bintulu kapit taiping
        limbang lawas""",
    Region.ID: """
        indonesian? indonesians jakarta bali balinese ubud denpasar java javanese yogya yogyakarta
        jogja surakarta bandung sundanese surabaya semarang medan batak toba samosir aceh padang
        minang minangkabau toraja tana_toraja makassar manado ambon lombok flores sumatra sulawesi
        kalimantan pontianak banjarmasin papua batam malang bogor palembang madura kupang kudus""",
    Region.TH: """
        thai thais thailand bangkok bkk chiang_?mai chiang_?rai phuket pattaya pattani yala narathiwat
        hat_yai isaan isan khon_kaen udon_thani ayutthaya songkhla krabi korat nakhon_\\w+ sukhothai
        surat_thani hua_hin ubon satun lampang""",
    Region.VN: """
        vietnam vietnamese viet_?nam viet hanoi ha_noi saigon ho_chi_minh hcmc hue huế da_nang danang
        hoi_an nha_trang da_lat dalat can_tho hai_phong ha_long mekong sa_?pa quy_nhon phu_quoc
        ninh_binh nghe_an tay_ninh bac_ninh vung_tau""",
    Region.PH: """
        philippines? filipin[oa]s? pin[oa]y manila cebu cebuano davao quezon makati iloilo ilocos
        ilocano baguio mindanao marawi zamboanga cotabato tondo pampanga batangas bohol bicol visayas
        visayan luzon tagalog palawan cavite laguna bacolod vigan sulu tagaytay leyte""",
    Region.CN: """
        china chinese beijing shanghai guangzhou shenzhen chengdu sichuan xi'?an xian wuhan hunan
        yunnan kunming lijiang linxia gansu lanzhou ningxia xinjiang urumqi kashgar uyghur tibet
        tibetan lhasa fujian xiamen fuzhou hangzhou suzhou nanjing guangdong shantou chaoshan harbin
        dalian tianjin qingdao chongqing guangxi guilin henan shandong hainan inner_mongolia qinghai
        xining mainland dongguan shenyang""",
    Region.JP: """
        japan japanese tokyo osaka kyoto kobe nagoya sapporo hokkaido fukuoka hiroshima nara okinawa
        naha yokohama sendai kanazawa kamakura nagasaki kyushu tohoku shikoku niigata nagano gifu
        kumamoto kagoshima""",
    Region.KR: """
        (?:south_)?korean? koreans seoul busan incheon daegu daejeon gwangju jeju jeonju gyeongju
        suwon gangnam ulsan andong gangwon jeolla gyeongsang""",
    Region.BN: """
        brunei bruneian bruneians bandar_seri_begawan bsb kampong_ayer tutong kuala_belait belait
        temburong seria gadong muara""",
}


def _words(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", flags)


INSTITUTIONS = {region: _words(names) for region, names in _INSTITUTIONS.items()}
PLACES = {
    region: _words("|".join(names.replace("_", r"\s").split()), re.IGNORECASE) for region, names in _PLACES.items()
}
