"""Names that place a text: institutions found in one region only, places and peoples, festivals."""

from __future__ import annotations

import re

from ccfw.checks.text import unmarked
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
        singapore singaporeans? sg s'pore jurong tampines woodlands bedok toa_payoh geylang(?:_serai)?
        little_india changi ang_mo_kio bukit_timah yishun punggol sentosa orchard_road katong
        joo_chiat sengkang hougang serangoon pasir_ris clementi bukit_batok bukit_panjang choa_chu_kang sembawang
        bishan queenstown kallang tekka mandai siglap tuas pulau_ubin pulau_semakau""",
    Region.MY: """
        malaysian? malaysians msia kl kuala_lumpur kuala_terengganu kelantan kelantanese kota_bharu
        terengganu johor jb johor_bahru penang george_?town ipoh perak melaka malacca sabah sarawak
        kuching kota_kinabalu kedah perlis pahang selangor shah_alam petaling_jaya pj putrajaya
        langkawi sibu miri seremban negeri_sembilan kuantan klang alor_setar bintulu kapit taiping
        limbang lawas batu_caves labuan sandakan tawau kudat ranau keningau sungai_petani kulim muar batu_pahat kangar
        kajang cyberjaya cameron_highlands genting""",
    Region.ID: """
        indonesian? indonesians jakarta bali balinese ubud denpasar java javanese yogya yogyakarta
        jogja surakarta bandung sundanese surabaya semarang medan batak toba samosir aceh padang
        minang minangkabau toraja tana_toraja makassar manado ambon lombok flores sumatra sulawesi
        kalimantan pontianak banjarmasin papua batam malang bogor palembang madura kupang kudus
        banten lampung riau jambi bengkulu bangka belitung gorontalo maluku nusa_tenggara mataram palu kendari mamuju
        ternate jayapura manokwari samarinda balikpapan palangka_?raya tarakan pekanbaru tanjung_pinang serang cirebon
        bekasi depok tangerang magelang""",
    Region.TH: """
        thai thais thailand bangkok bkk chiang_?mai chiang_?rai phuket pattaya pattani yala narathiwat
        hat_yai isaan isan khon_kaen udon_thani ayutthaya songkhla krabi korat nakhon_\\w+ sukhothai
        surat_thani hua_hin ubon(?:_ratchathani)? satun lampang lamphun mae_hong_son phayao phrae uttaradit phitsanulok
        phetchabun kamphaeng_phet phichit uthai_thani chai_nat sing_buri ang_thong lop_?buri saraburi suphan_buri
        nonthaburi pathum_thani samut_\\w+ kanchanaburi ratchaburi phetchaburi prachuap_khiri_khan chon_?buri rayong
        chanthaburi prachin_buri sa_kaeo chachoengsao buri_?ram surin si_?sa_?ket yasothon amnat_charoen roi_et
        kalasin maha_sarakham mukdahan sakon_nakhon nong_khai nong_bua_lamphu bueng_kan chaiyaphum chumphon ranong
        phang_?nga phatthalung""",
    Region.VN: """
        vietnam vietnamese viet_?nam viet hanoi ha_noi saigon ho_chi_minh hcmc hue da_nang danang
        hoi_an nha_trang da_lat dalat can_tho hai_phong ha_long mekong sa_?pa quy_nhon phu_quoc
        ninh_binh nghe_an tay_ninh bac_ninh vung_tau nam_dinh thai_binh ha_nam hung_yen hai_duong vinh_phuc phu_tho
        thai_nguyen bac_giang bac_kan cao_bang lang_son ha_giang tuyen_quang lao_cai yen_bai dien_bien lai_chau son_la
        hoa_binh quang_\\w+ thanh_hoa ha_tinh vinh thua_thien binh_\\w+ phu_yen khanh_hoa ninh_thuan kon_tum gia_lai
        pleiku dak_lak dak_nong buon_ma_thuot lam_dong dong_nai dong_thap long_an tien_giang ben_tre tra_vinh
        vinh_long an_giang kien_giang hau_giang soc_trang bac_lieu ca_mau my_tho""",
    Region.PH: """
        philippines? filipin[oa]s? pin[oa]y manila cebu cebuano davao quezon makati iloilo ilocos
        ilocano baguio mindanao marawi zamboanga cotabato tondo pampanga batangas bohol bicol visayas
        visayan luzon tagalog palawan cavite laguna bacolod vigan sulu tagaytay leyte
        abra agusan aklan albay apayao basilan bataan batanes benguet bukidnon bulacan cagayan camarines capiz
        catanduanes ifugao isabela kalinga la_union lanao maguindanao marinduque masbate mindoro misamis negros
        nueva_(?:ecija|vizcaya) pangasinan romblon samar sarangani siquijor sorsogon surigao tarlac tawi-?tawi
        zambales tacloban dumaguete butuan legazpi naga_city puerto_princesa general_santos""",
    Region.CN: """
        china chinese beijing shanghai guangzhou shenzhen chengdu sichuan xi'?an xian wuhan hunan
        yunnan kunming lijiang linxia gansu lanzhou ningxia xinjiang urumqi kashgar uyghur tibet
        tibetan lhasa fujian xiamen fuzhou hangzhou suzhou nanjing guangdong shantou chaoshan harbin
        dalian tianjin qingdao chongqing guangxi guilin henan shandong hainan inner_mongolia qinghai
        xining mainland dongguan shenyang anhui hefei hebei shijiazhuang heilongjiang hubei jiangsu jiangxi nanchang
        jilin changchun liaoning shaanxi shanxi taiyuan zhejiang ningbo wenzhou quanzhou jinjiang guizhou guiyang
        nanning haikou changsha zhengzhou jinan yinchuan hohhot hong_kong macau""",
    Region.JP: """
        japan japanese tokyo osaka kyoto kobe nagoya sapporo hokkaido fukuoka hiroshima nara okinawa
        naha yokohama sendai kanazawa kamakura nagasaki kyushu tohoku shikoku niigata nagano gifu
        kumamoto kagoshima aomori iwate miyagi akita yamagata fukushima ibaraki tochigi gunma saitama chiba kanagawa
        toyama ishikawa fukui yamanashi shizuoka aichi shiga hyogo wakayama tottori shimane okayama yamaguchi tokushima
        kagawa ehime matsuyama kochi oita miyazaki hamamatsu kitakyushu ishigaki miyakojima""",
    Region.KR: """
        (?:south_)?korean? koreans seoul busan incheon daegu daejeon gwangju jeju jeonju gyeongju
        suwon gangnam ulsan andong gangwon jeolla gyeongsang gyeonggi chungcheong(?:buk|nam)?-?(?:do)? sejong
        gyeongsang(?:buk|nam)-?do jeolla(?:buk|nam)-?do cheongju chuncheon gangneung changwon pohang mokpo yeosu
        seongnam goyang ansan cheonan""",
    Region.BN: """
        brunei bruneian bruneians bandar_seri_begawan bsb kampong_ayer tutong kuala_belait belait
        temburong seria gadong muara bangar kiulap berakas jerudong""",
}

# Days that the public calendar of one of the regions prints, under the names that English texts use.
_FESTIVALS = """
new_year'?s?_(?:day|eve) lunar_new_year chinese_new_year cny tet spring_festival seollal imlek good_friday easter
christmas(?:_(?:day|eve))? ramadan hari_raya(?:_(?:puasa|aidilfitri|aidiladha|haji))? eid(?:_al-?(?:fitr|adha))?
idul_(?:fitri|adha) lebaran nuzul_(?:al-?)?quran isra_mi'?raj maulid(?:ur_rasul)? deepavali diwali thaipusam pongal
vesak(?:_day)? wesak(?:_day)? waisak visakha_bucha(?:_day)? makha_bucha(?:_day)? asalha_bucha(?:_day)? khao_phansa
nyepi songkran loy_krathong gawai_dayak gawai ka?aamatan qing_?ming ching_?ming cheng_?meng tomb[- ]sweeping_day
dragon_boat_festival mid-autumn_festival chuseok obon golden_week setsubun tanabata hinamatsuri buddha's_birthday
children's_day all_saints'?_day all_souls'?_day undas holy_week simbang_gabi labou?r_day national_day
hung_kings(?:'_day)? independence_day merdeka(?:_day)? respect_for_the_aged_day
"""
_SITE = (
    r"(?:road|street|avenue|lane|town|village|caves?|hill|mount|lake|river|island|bridge|jetty|pier|market|plaza|mall|"
    r"park|gardens?|temple|church|cathedral|mosque|shrine|pagoda|cemetery|causeway)"
)


def _words(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)", flags)


INSTITUTIONS = {region: _words(names) for region, names in _INSTITUTIONS.items()}
PLACES = {
    region: _words("|".join(names.replace("_", r"\s").split()), re.IGNORECASE) for region, names in _PLACES.items()
}
"""Towns, provinces and peoples of each region, for a text without marks on its letters."""
_FESTIVAL = _words("|".join(_FESTIVALS.replace("_", r"\s").split()), re.IGNORECASE)
_NAMED_SITE = re.compile(rf"(?:[A-Z][\w'-]*\s)+(?i:{_SITE})")


def on_map_or_calendar(term: str) -> bool:
    """Whether a term is the name of a place or of a public festival: a map or a calendar explains it."""
    patterns = (*PLACES.values(), _FESTIVAL)
    return any(pattern.fullmatch(unmarked(term)) for pattern in patterns) or bool(_NAMED_SITE.fullmatch(term))
