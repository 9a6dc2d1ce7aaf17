(()=>{function A(a){return Object.fromEntries(Object.entries(a).map(([e,t])=>[e,t.default]))}function _t(a,e,t){let o=typeof t=="string"?`"${t.slice(0,40)}"`:String(t).slice(0,40);return a.type==="bool"?typeof t=="boolean"?null:`${e} is true or false, not ${o}`:a.type==="enum"?a.values.includes(t)?null:`${e} is one of ${a.values.join(", ")}, not ${o}`:a.type==="string"?typeof t!="string"?`${e} is a text, not ${o}`:t.length<=a.max?null:`${e} has at most ${a.max} characters, not ${t.length}`:typeof t!="number"||!Number.isFinite(t)?`${e} is a number, not ${o}`:a.type==="int"&&!Number.isInteger(t)?`${e} is a whole number, not ${o}`:t>=a.min&&t<=a.max?null:`${e} is ${a.min} to ${a.max}, not ${o}`}function Ae(a,e){if(e===null||typeof e!="object"||Array.isArray(e))return{state:A(a),error:"a state is an object of named values"};for(let[t,o]of Object.entries(e)){let s=Object.hasOwn(a,t)?_t(a[t],t,o):`there is no "${t.slice(0,40)}" here, only ${Object.keys(a).join(", ")}`;if(s)return{state:A(a),error:s}}return{state:{...A(a),...e},error:null}}function Me(a,e){return a.type==="bool"?e==="true"||e==="1"?!0:e==="false"||e==="0"?!1:e:(a.type==="int"||a.type==="number"||typeof a.values?.[0]=="number")&&e.trim()!==""&&!Number.isNaN(Number(e))?Number(e):e}function Oe(a,e,t){let o=A(e),s=Object.keys(e).filter(r=>t[r]!==o[r]).map(r=>`${r}=${encodeURIComponent(t[r]).replaceAll("%20","+")}`);return`#${a}:${s.join("&")}`}function Te(a,e,t){let o=`#${a}:`;if(!t.startsWith(o))return null;let s=Object.create(null);for(let r of t.slice(o.length,o.length+2e3).split("&").filter(Boolean)){let i=r.indexOf("="),n=i<0?r:r.slice(0,i),l=i<0?"":r.slice(i+1);try{l=decodeURIComponent(l.replaceAll("+"," "))}catch{}s[n]=Object.hasOwn(e,n)?Me(e[n],l):l}return s}var kt={"&":"&amp;","<":"&lt;",">":"&gt;",'"':"&quot;","'":"&#39;"};function g(a){return String(a).replace(/[&<>"']/g,e=>kt[e])}function M(a,e=2){let t=Math.abs(a).toFixed(e).replace(/\d+/,o=>o.replace(/\B(?=(\d{3})+$)/g,","));return a<0&&/[1-9]/.test(t)?`−${t}`:t}var O=a=>M(a,0);function Le(a,e,t=`${e}s`){return`${O(a)} ${a===1?e:t}`}var F={seeds:{q:1,k:2,v:3},query_width:8,check_keys:300,every:13,cases:{mha:{title:"MHA",model:"Llama-2-7B",n_heads:32,n_kv_heads:32,key_dim:128,value_dim:128,latent:!1,scale:.08838834764831843,flops_per_key:16384,bytes_per_key:32768,expected:[-.0667549,.0377027,-.0521431,.173756,-.0148807,.0144575,.1728639,.0674412,-.030578,-.1489421,.0024866,-.0133932,-.2142205,.1231554,.0491042,.1768682,-.183217,-.0113857,-.0749782,.0169847,.0787556,.245521,-.0246223,.0197899,.14116,-.045355,.1149856,-.1962851,.083064,-.1020409,.0360013,-.3940742,-.1582911,.0046516,-.0668683,-.0500888,-.0615511,.1669163,.0693132,-.2003361,-.3679007,.1191022,-.0954238,.0864732,-.0472416,-.1362473,-.1751107,.0074576,-.3665223,.0113978,-.0510142,-.1652642,-.3491709,.273005,.1692456,.1049758,.0725966,-.0424523,-.4812624,-.0024039,.1116358,.0081464,.4103871,.3519659,-.0649344,-.1029575,.0883296,-.1211497,-.029166,-.3429649,-.4410834,-.2857237,.1878503,.6300092,.0813854,-.3293558,-.5295292,-.1013236,-.338681,.169317,-.1024857,-.0116162,-.01662,.0245507,-.0551701,.2407348,.0745321,-.2057859,-.2847203,-.6317593,.1119187,-.4859792,-.3539365,.3291957,.494158,.1092431,.4068219,-.4233559,.2525516,-.0598898,.1889866,-.1475985,-.0889015,-.1716964,.1435217,.0012542,-.0131046,.0784488,.3197906,.1221061,-.0519334,.147598,-.5681618,.6391841,.153826,-.7983344,.0843822,.7582189,-.0872838,.0234293,.147284,-.1066042,-.1811804,.3630178,.2520836,.423659,-.0947505,-.0487558,-.0145593,-.1704928,-.3161741,-.0410028,.3153982,-.3194273,-.2709801,.1750239,-.382947,.4304531,.3349939,.0591197,-.1931501,-.6029207,.5653103,.3050479,-.5237526,.0243978,.4254468,.0650612,.3092467,.1451521,-.2823595,.1351645,-.3111096,-.2549293,.1065428,-.1310395,.3734332,.2426936,.1000848,.0751662,.1919573,-.0990151,.0953037,-.1665462,.0148104,.0292174,-.180074,.0158671,.1674835,.0023189,-.013393,.1618337,-.0146828,-.075877,.0368254,-.0826886,.010782,-.0912262,-.1694443,.2157061,.0058372,-.1161661,.1286543,-.0074566,-.1946292,-.0190437,.0728313,.0560325,.0782682,-.1899873,.3025632,.1360045,.0206956,-.2631859,.0500401,-.3054974,-.2856264,-.0876499,-.1113222,-.3703197,.3624682,-.0990567,.1428145,.0967922,-.2641712,.152824,.2221762,-.5846733,-.1253179,-.0661199,-.1780799,-.281485,.4236832,.3176819,-.1475142,-.1668234,-.3799634,.1808264,-.0122778,-.2580952,-.0310904,-.0130401,.0486586,-.1409815,.4290819,.0878759,.1370186,-.0489815,.2794581,-.0793593,-.1204034,.0849623,-.0974701,.0109753,.0285957,.0908023,.4867727,.2329986,-.481162,-.2422436,-.2660189,-.4406229,-.1812598,.2582601,.0946436,-.0802253,.4227805,.2444344,.3607973,.0348686,-.4012921,-.4420595,.4491265,.0791708,-.0294974,-.1174534,-.1811499,-.0037868,-.0853584,-.2156364,-.0586615,.1097051,-.1261636,-.1167983,.0241227,.0295026,-.1692036,-.0357327,-.0047355,-.14234,-.2860867,-.1181347,.3479869,-.082742,-.217119,.2076696,.0995271,.0469805,.0527432,.0844202,-.0617368,-.1238512,-.1500714,-.0817479,.1112342,.2550296,.053382,.0087947,.0681804,.2197499,-.0522771,-.0784397,.045459,.0568695,.0879323,-.204932,-.1439518,-.053638,-.0527109,-.1616649,.1519545,.065489,.0245635,-.3100109,.1768095,-.0875051,-.1989992,.1730646,.224677,.0320217,.1857985,.240851,.0298747,-.0759743,.0137558,.1908915]},gqa:{title:"GQA",model:"Llama-3-8B",n_heads:32,n_kv_heads:8,key_dim:128,value_dim:128,latent:!1,scale:.08838834764831843,flops_per_key:16384,bytes_per_key:8192,expected:[-.0667549,.0377027,-.0521431,.173756,-.0148807,.0144575,.1728639,.0674412,-.030578,-.1489421,.3425503,-.1809084,.0653226,.2476195,-.0995539,.2432938,-.122185,.107252,-.1250162,-.0746534,.2026733,-.1847557,-.0786861,-.1134825,-.1029488,-.0300924,.0481404,-.1104716,-.0741413,.2878564,.1681972,-.0358243,-.1259816,-.2972146,.2448831,.1338408,.1012114,-.0271996,.0611754,-.1620294,-.0342926,-.4586233,.1436802,.3836364,.0673282,-.1969376,-.1271327,-.032931,-.3784026,.0618114,.0851585,-.0527112,.1064238,.138108,.2765161,.1417644,-.0821559,.1104297,-.107068,-.1999081,-.0781107,.0350959,-.0066432,-.0914284,.0694406,-.1439518,-.1736796,.0908556,-.1226259,-.2560204,-.1263775,.2801495,.0465792,-.1966448,-.0943589,.2353097,-.4227252,.1585393,.0588118,-.0391409,-.2970177,.1816933,-.1739276,-.0820251,-.2057632,-.0849513,.1929655,-.0356093,-.2585554,.1070813,.0056581,.0420849,-.2498226,.0212338,-.0013331,-.2815053,.1264658,-.0061068,-.1190755,.2021257,-.1312659,-.4379227,.1476941,.2240805,-.0465999,-.0285571,-.0320762,.3384914,-.2641886,-.0582122,.1225605,.0622132,.0772833,-.1749889,-.1345901,-.1893625,-.101658,-.0665745,.1563473,.1640886,.011586,.0248235,.1693234,-.096564,.2227209,.0616991,.2684105,-.0581419,.0679,.0588758,.0664157,-.065542,.07782,-.0338693,-.1804008,-.1726921,-.1129023,.0027829,.4398876,-.7385386,-.6024712,.5718654,.4774143,.4828594,-.5881055,.2780855,-.0291328,-.3003826,.2728762,.12824,-.2375584,.0669655,-.2886445,-.1290523,.2354901,.0902461,.1210905,.0400086,-.1020721,-.0825418,-.1139399,.0650893,-.0202801,-.1772523,-.0385056,.1332815,.1084195,.0441496,.129632,.2172105,-.1610075,.2134201,-.1409913,.1470314,-.1026495,-.027991,.2743725,-.1394163,-.0885518,.3177211,.0560028,-.1425916,-.0374603,.0320751,.3341753,-.0650869,-.2289704,.045206,-.4309138,-.4884482,-.0521752,.4025487,-.0401405,.17184,-.6099531,.3853772,.1731277,-.0156898,-.1702513,.1925471,-.2679894,.1614129,.0779841,-.1545226,-.1831432,-.0323733,-.1658154,.0055602,.1260184,-.4868322,-.5469817,-.331207,-.5533297,.2401419,.0398601,.3989155,.1199028,-.375107,.0877353,.8599293,-.2306479,.4687938,-.1634641,-.4527448,-.7624374,-.3044438,.3199404,.1414216,.3376287,.0485357,-.023421,.30083,-.2393627,.0790756,-.1659718,-.260654,-.0305103,.3264116,-.4504104,-.1078572,.3508042,.1909847,-.1394898,.1510215,.3160354,.0709944,.375018,.2395925,.3518611,-.1054238,.2079175,.0714075,-.0924307,.1290848,.0797596,-.023525,-.1620671,-.154783,-.2359938,-.0034199,-.2100091,-.0226558,-.1129723,-.0823061,.2156915,-.1036452,-.0039637,.0320061,.0631904,.1239857,-.0409655,.0425472,-.0386675,.0883063,-.0209975,.3439228,-.0142857,.0117459,.0752298,.0268761,.2341735,.1604162,-.045261,-.1330426,-.0392729,-.0137775,-.0676409,.1234914,-.0895071,.0501178,-.0916809,.3047199,-.2732638,.0675789,.08349,.0181635,-.0051729,-.2345782,-.1283925,.1607385,.1192109,.2569166,.1952549,.281015,-.2147776,.0484334,-.3586214,.0326065,.1642843,.1515623,.2617937,.0614345,-.2788266,-.2356296,.0643541,.0065292]},mla:{title:"MLA, absorbed",model:"DeepSeek-V2-Lite (16B)",n_heads:16,n_kv_heads:1,key_dim:576,value_dim:512,latent:!0,scale:.07216878364870323,flops_per_key:34816,bytes_per_key:2304,expected:[.4686919,-.2385059,.2339136,-.2105027,-.2302575,-.2004437,-.0380788,.2930322,-.1513291,.1096524,-.4490606,.6527175,.3052062,.4449162,.3203599,.3759696,-.3930126,-.0882504,-.355518,.3655026,.3577522,.0684987,-.0622131,-.3525375,-.4325031,-.315625,-.3025178,-.1498941,-.081762,.4655723,.3747925,.4682991,.4739782,-.3815612,.4293044,-.1265475,.5563409,-.078269,.0381873,-.1475854,-.183473,-.1140057,-.3800496,.1798747,-.2204627,-.0184479,-.1269427,.1918681,-.104954,-.0988713,-.0697112,.1592879,-.1914294,-.3519174,-.2553732,-.1718002,.0644629,.0559402,.1374685,.4605146,.1687157,.3427499,-.0522202,-.2458392,-.2943729,-.4596745,-.0805637,-.1654295,-.1909157,.006928,.1299481,.111001,-.031866,.200528,-.1846814,-.291285,.0088585,-.0504698,-.479389,.6976409,.4750457,-.4459688,.2732753,-.2427907,-.2017072,-.2881733,.2245023,.7640414,-.439125,.5880018,-.1667247,.0207305,-.469154,.0966287,-.2932933,-.6155112,-.6309902,.2567469,.1007357,.7767328,-.2733417,-.2258935,-.4958824,.3540312,.3695872,-.4382079,-.6640208,-.1762459,.1971304,-.0428731,.1336762,-.1540221,-.1867647,.4398968,.0065361,-.630989,.6822536,-.336601,-.1493801,-.1234976,-.4715667,.2798752,-.3932733,.0762193,.3128807,-.409901,.4948734,-.3243988,-.1818938,-.1399934,-.0161655,-.3061172,.2288598,-.5436756,.3008331,-.5889553,-.3362164,-.1914501,.465642,-.0162302,-.1480212,.2373012,-.1963114,.3591343,.138059,.3040474,.2583331,.1135166,-.0986912,.1111043,.6030619,.1369308,.1438155,-.1760945,.3036348,.0362288,.4646158,.3988219,-.57926,-.3192957,.5848469,-.6739054,.306515,.0147705,.1667285,-.1917999,-.4412001,-.4320729,.1940659,-5831e-7,.2956283,-.182522,.4805692,.3295149,-.2704057,-.1299197,-.4486847,-.0045824,-.4042809,-.3143907,-.0929492,-.3523747,.2581874,.2046896,.0078412,-.022057,.5184514,-.2402373,.0876642,-.2741727,-.2846886,.6114121,-.1760558,-.2630521,-.1191696,-.2824259,.2352919,-.8794247,.5411791,.056608,.106837,.8715797,.6869085,-.5287737,.3218416,.6332228,-.9268264,.2005334,.1101602,-.1739529,.5888446,-.7047156,.2614126,-.2030294,.794268,-.6217764,-.5580287,-.6036576,-.0672603,-.3647084,.0984459,.8202601,-.8854015,-.8564109,-.0199909,.3444871,-.0662216,-.6504307,.8090288,.474344,-.8085582,.5864583,.5996829,-.2163079,.5498173,.9081375,.3464586,.8387146,-.3472254,-.6830007,-.3879865,.8214755,-.8058566,.7079251,-.778725,.2845485,.5868196,-.2496045,-.5741945,.4815864,-.2578881,-.4359017,.295934,.301802,.5493309,-.5665776,.0958964,.3146475,.0404401,.2727184,.8698931,.2743752,.269809,-.4205387,-.1637611,.2192776,-.1914838,.640117,-.7164809,.2758636,.3307169,-.0439442,-.7645141,.7129861,.8620589,.587912,-.122581,.2814221,.4142351,-.3320314,-.3670295,.1093696,.0387881,.1571906,-.0178204,.0307731,.095784,.4537127,.0527954,-.2142682,.1768449,-.4927345,.5376579,.2439572,-.0947545,-.3650076,.2307218,.2346332,-.1774334,.3165554,.3483483,-.0532922,.1112395,-.1537542,-.0574379,-.1374728,.3453013,-.3263381,.2327251,-.3987387,-.0623098,-.3372901,.2858466,.2049084,-.2986834,.0963741,.4124868,.1603792,-.4236646,.0754395,-.2191672,-.2218479,-.2669177,-.3213705,.3346234,-.1542346,.2375093,.0062195,.2542554,-.1920624,-.0251367,.080868,-.1049366,.0080682,.1488612,.0949786,.225083,-.2200203,.2154797,-.1429046,-.1402187,.208942,-.0401918,-.048605,.3346419,.0694444,-.1868643,.0948592,-.0552619,-.1719352,.217529,.3080987,.1329334,-.0662044,-.1373377,.4541419,-.0409219,-.1204584,-.7596522,.5846075,-.643229,-.1512804,.3987894,-.2842794,-.2537444,.147813,-.4664596,-.2324983,.809256,.5450972,-.0211598,-.2207614,-.4106381,-.1650233,.3726911,-.4732176,.50119,.6787971,.3085697,.6130488,.4659551,.0668214,-.2730011,.1526822,-.1995399,.6861119,.3591846,.2046587,.6763522,.5395823,.1083083,.6028477,.6847054,-.0799278,-.3335506,-.6045408,.4266833,-.6567383,-.3453945,.3018795,-.3469889,-.1723926,.5972626,-.6164927,.058649,-.5015688,-.6433405,-.6489641,.6086062,-.2878546,.0036608,.441528,.2487376,-.6724054,-.6024578,.0585041,.470036,.799434,-.4375729,-.0969537,-.3505508,.2057401,-.2603819,.2594023,-.3577149,.1702817,-.7548975,-.1606387,-.6122687,.5418355,-.5461293,-.6691267,.7011116,.313941,.5335147,-.2147188,-.1997449,.271807,.3257538,-.3973015,.1148907,-.7198572,.6654063,.1227706,.6411209,.1784993,.3834016,-.2192694,-.2300382,-.0130393,.3145553,-.1762907,.5476348,-.4274079,-.3004073,.1327255,.3150653,-.1243119,.183497,.4054276,-.515314,.123268,.6670477,-.4348433,.0355063,.1891031,.3587747,.1919311,.3744852,-.5475706,-.5266245,-.7617604,.0769933,-.28083,-.1979189,-.4178873,-.4138648,-.5252885,-.2814621,-.1098895,.2728994,.1686678,-.7087823,-.0612414,-.5276798,-.1631258,.6741317,.1446277,-.6579276,.2990135,-.6038852,.6320541,.7436901,-.1938522,-.4838321,.283461,.6142591,.8723,.473571,.3121601,.2559201,.0235625,.2951956,.2377354,-.3295793,.1231509,-.206365,.5652543,-.182671,.2013998,-.5349006,.445886,-.1480561,-.0146442,-.2503088,.0030343,-.0072311,.091478,.0176351,-.1080895,.4778366,.2260993,-.1334975,-.1370838,-.2169353,.0387734,.2564283,-.4936243,-.3321366,-.2103861,-.1512786,-.5017769,-.1232894,-.0987643,-.5622053,.0154763,.1107925,.3965857,.0968936,-.2570646,.076429,.0033955,.4938943,-.3201192,.171838,-.1386362,.3275741,-.3253473,.0972761,-.4040748,-.1041848,.054842,-.4468596,.3297677,.4277604,-.1535612,.0518606,-.640926,.1859326,.2175406,-.2409189,-.5130796,.02288,.0740249,.6015763,-.2225152,.0472949,.3661999,.52855,.4062791,.2888272,.4280177,.0651443,.7989903,-.1946313,.3542086,.4264871,.1836312,.3208835,.5233432,.030116,.3855235,.4368012,-.6646247,.0021617,-.0033725,-.5863016,.1950075,.1400682,.1971185,.5941945,-.2532515,-.1464638,-.1804617,-.0904166,-.0410237,.1341296,.262682,.0875998,.2263653,.0361127,-.0385049,.0427929,.4335247,.0325299,.3703492,.230871,-.4611443,.0451943,.4934718,-.079742,-.1683748,.2682196,-.2634626,-.3478352,.0898887,.3547195,.2560084,-.2783137,-.13155,-.4162819,.1701191,.2438435,-.2649614,-.0914933,-.5104526,-.137174,.4555496,-.4411831,-.3261012,.3757552]}},machines:[{key:"a100",name:"A100 SXM 80 GB",source:"NVIDIA A100 data sheet",bytes_per_second:2039e9,flops_per_second:195e11},{key:"h100",name:"H100 SXM 80 GB",source:"NVIDIA H100 data sheet; rates without sparsity from the Hopper architecture white paper",bytes_per_second:335e10,flops_per_second:67e12},{key:"h200",name:"H200 SXM 141 GB",source:"NVIDIA H200 data sheet; rates without sparsity as H100",bytes_per_second:48e11,flops_per_second:67e12},{key:"stored",name:"AMD EPYC, 2 threads",source:"measured with make bench on 2026-11-22",bytes_per_second:5441411271703959e-5,flops_per_second:16240588994667664e-5}]};var{cases:f,machines:U}=F,p=Object.keys(f),_=F,C=2e-5,Et=.1,ae=.2,T=a=>f[a].title.split(",")[0],S=a=>f[a].flops_per_key/f[a].bytes_per_key;function Y({bytes:a,flops:e},{bytes_per_second:t,flops_per_second:o}){let[s,r]=[a/t,e/o];return{seconds:Math.max(s,r),limit:s>=r?"reading":"arithmetic"}}var oe=(a,e)=>({bytes:e*f[a].bytes_per_key,flops:e*f[a].flops_per_key});function H({n_kv_heads:a,key_dim:e,latent:t},o,s){let r=4*o*a*e,i=Array.from({length:Math.floor(s/r)},(l,c)=>c*r),n=(l,c)=>i.map(u=>({k:[l,u],v:[c,u]}));return t?[...n("k","k"),...n("v","v")]:n("k","v")}function Ne(a,e){let t=Object.entries(a).filter(([,o])=>o[e]).map(([o,s])=>[o,s[e]/s.seconds]);return t.length?t.reduce((o,s)=>s[1]>o[1]?s:o):null}function E({rates:a}){let[e,t]=[Ne(a,"bytes"),Ne(a,"flops")];return!e||!t?null:{bytes_per_second:e[1],flops_per_second:t[1],by:{reading:e[0],arithmetic:t[0]}}}function Pe(a,e,t=F.every){return a.reduce((o,s,r)=>{let i=Math.abs(s-e[r*t]);return i<=o?o:i},0)}function De({seconds:a,predicted_seconds:e,reading_seconds:t,starting_seconds:o,limit:s}){let r=a-e;if(Math.abs(r)<=Et*e)return{kind:"near",over:r};if(r<0)return{kind:"faster",over:r};let i=Math.min(o,r),n=s==="reading"?Math.min(Math.max(0,t-o-e),r-i):0,l={starting:i,reading:n,working:r-i-n},[c]=Object.entries(l).reduce((u,d)=>d[1]>u[1]?d:u);return{kind:c,over:r,parts:l}}function se(a,e){let{limit:t,spread:o}=a.cases[e];return[[`the rate of ${t}`,a.rates[E(a).by[t]].spread],[`the ${T(e)} kernel`,o]]}var re=a=>a.reduce((e,t)=>t[1]>e[1]?t:e);var K=`(module
  ;; Reading: four running sums of four numbers each, 64 bytes a round.
  (func $read (export "read") (param $at i32) (param $end i32) (result f32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (loop $more
      (local.set $a (f32x4.add (local.get $a) (v128.load (local.get $at))))
      (local.set $b (f32x4.add (local.get $b) (v128.load offset=16 (local.get $at))))
      (local.set $c (f32x4.add (local.get $c) (v128.load offset=32 (local.get $at))))
      (local.set $d (f32x4.add (local.get $d) (v128.load offset=48 (local.get $at))))
      (br_if $more (i32.lt_u
        (local.tee $at (i32.add (local.get $at) (i32.const 64))) (local.get $end))))
    (call $sum (f32x4.add
      (f32x4.add (local.get $a) (local.get $b)) (f32x4.add (local.get $c) (local.get $d)))))

  (func $sum (param $x v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $x)) (f32x4.extract_lane 1 (local.get $x)))
      (f32.add (f32x4.extract_lane 2 (local.get $x)) (f32x4.extract_lane 3 (local.get $x)))))

  ;; Arithmetic: twelve chains of multiply-adds that don't wait for each other and read nothing,
  ;; a = a * by + plus, 96 FLOPs a round.
  (func $multiply_add (export "multiply_add") (param $rounds i32) (param $start f32) (result f32)
    (local $by v128) (local $plus v128)
    CHAINS.locals
    (local.set $by (f32x4.splat (f32.const 0.75)))
    (local.set $plus (f32x4.splat (f32.const 0.25)))
    CHAINS.start
    (loop $more
      CHAINS.step
      (br_if $more (i32.lt_u (i32.const 0)
        (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1))))))
    (f32x4.extract_lane 3 CHAINS.sum))

  ;; e to the x for four numbers from -87 to 0: 2^n times a polynomial of what remains.
  (func $exp (param $x v128) (result v128) (local $n v128) (local $p v128)
    (local.set $x (f32x4.max (local.get $x) (f32x4.splat (f32.const -87))))
    (local.set $n (f32x4.nearest
      (f32x4.mul (local.get $x) (f32x4.splat (f32.const 1.44269504)))))
    (local.set $x (f32x4.sub (local.get $x)
      (f32x4.mul (local.get $n) (f32x4.splat (f32.const 0.693359375)))))
    (local.set $x (f32x4.add (local.get $x)
      (f32x4.mul (local.get $n) (f32x4.splat (f32.const 2.12194440e-4)))))
    (local.set $p (f32x4.splat (f32.const 1.9875691500e-4)))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 1.3981999507e-3))))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 8.3334519073e-3))))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 4.1665795894e-2))))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 1.6666665459e-1))))
    (local.set $p (f32x4.add (f32x4.mul (local.get $p) (local.get $x))
      (f32x4.splat (f32.const 5.0000001201e-1))))
    (local.set $p (f32x4.add
      (f32x4.mul (f32x4.mul (local.get $p) (local.get $x)) (local.get $x))
      (f32x4.add (local.get $x) (f32x4.splat (f32.const 1)))))
    (f32x4.mul (local.get $p) (i32x4.shl
      (i32x4.add (i32x4.trunc_sat_f32x4_s (local.get $n)) (i32x4.splat (i32.const 127)))
      (i32.const 23))))

  ;; Decode attention of the query heads that share one key/value head, in one pass over the
  ;; keys, 32 at a time. $room holds per head 32 scores, and behind all of them its running
  ;; maximum and sum. The running outputs are in $out. The bytes of a value are a multiple of 64.
  (func $attend (export "attend")
    (param $q i32) (param $k i32) (param $v i32) (param $out i32) (param $room i32)
    (param $heads i32) (param $keys i32) (param $key_bytes i32) (param $value_bytes i32)
    (param $stride i32) (param $scale f32)
    (local $n i32) (local $state i32)
    (local.set $state (i32.add (local.get $room) (i32.shl (local.get $heads) (i32.const 7))))
    (call $clear (local.get $out) (local.get $state) (local.get $heads) (local.get $value_bytes))
    (loop $tile
      (local.set $n (select (i32.const 32) (local.get $keys)
        (i32.lt_u (i32.const 32) (local.get $keys))))
      (call $scores (local.get $q) (local.get $k) (local.get $room) (local.get $heads)
        (local.get $n) (local.get $key_bytes) (local.get $scale))
      (call $weigh (local.get $v) (local.get $out) (local.get $room) (local.get $state)
        (local.get $heads) (local.get $n) (local.get $value_bytes) (local.get $stride))
      (local.set $k (i32.add (local.get $k) (i32.mul (local.get $n) (local.get $key_bytes))))
      (local.set $v (i32.add (local.get $v) (i32.mul (local.get $n) (local.get $stride))))
      (br_if $tile (i32.lt_u (i32.const 0)
        (local.tee $keys (i32.sub (local.get $keys) (local.get $n))))))
    (call $divide (local.get $out) (local.get $state) (local.get $heads) (local.get $value_bytes)))

  ;; Nothing has been read: a maximum below every score, no weight, no output.
  (func $clear (param $out i32) (param $state i32) (param $heads i32) (param $value_bytes i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $out) (i32.mul (local.get $heads) (local.get $value_bytes))))
    (loop $more
      (v128.store (local.get $out) (f32x4.splat (f32.const 0)))
      (br_if $more (i32.lt_u
        (local.tee $out (i32.add (local.get $out) (i32.const 16))) (local.get $end))))
    (loop $head
      (f32.store (local.get $state) (f32.const -1e30))
      (f32.store offset=4 (local.get $state) (f32.const 0))
      (local.set $state (i32.add (local.get $state) (i32.const 8)))
      (br_if $head (i32.lt_u (i32.const 0)
        (local.tee $heads (i32.sub (local.get $heads) (i32.const 1)))))))

  ;; A tile's scores: each key is read once and meets every query of the heads that share it.
  (func $scores
    (param $q i32) (param $k i32) (param $room i32) (param $heads i32) (param $n i32)
    (param $key_bytes i32) (param $scale f32)
    (local $head i32) (local $at i32) (local $to i32) (local $a v128) (local $b v128)
    (call $hide (local.get $room) (local.get $heads))
    (loop $key
      (local.set $head (i32.const 0))
      (local.set $to (local.get $room))
      (loop $query
        (local.set $at (i32.const 0))
        (local.set $a (f32x4.splat (f32.const 0)))
        (local.set $b (f32x4.splat (f32.const 0)))
        (loop $more
          (local.set $a (f32x4.add (local.get $a) (f32x4.mul
            (v128.load (i32.add (local.get $k) (local.get $at)))
            (v128.load (i32.add (local.get $q) (local.get $at))))))
          (local.set $b (f32x4.add (local.get $b) (f32x4.mul
            (v128.load offset=16 (i32.add (local.get $k) (local.get $at)))
            (v128.load offset=16 (i32.add (local.get $q) (local.get $at))))))
          (br_if $more (i32.lt_u
            (local.tee $at (i32.add (local.get $at) (i32.const 32))) (local.get $key_bytes))))
        (f32.store (local.get $to) (f32.mul (local.get $scale)
          (call $sum (f32x4.add (local.get $a) (local.get $b)))))
        (local.set $q (i32.add (local.get $q) (local.get $key_bytes)))
        (local.set $to (i32.add (local.get $to) (i32.const 128)))
        (br_if $query (i32.lt_u
          (local.tee $head (i32.add (local.get $head) (i32.const 1))) (local.get $heads))))
      (local.set $q (i32.sub (local.get $q) (i32.mul (local.get $heads) (local.get $key_bytes))))
      (local.set $k (i32.add (local.get $k) (local.get $key_bytes)))
      (local.set $room (i32.add (local.get $room) (i32.const 4)))
      (br_if $key (i32.lt_u (i32.const 0)
        (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))

  ;; Places of a tile that no key fills.
  (func $hide (param $room i32) (param $heads i32) (local $end i32)
    (local.set $end (i32.add (local.get $room) (i32.shl (local.get $heads) (i32.const 7))))
    (loop $more
      (v128.store (local.get $room) (f32x4.splat (f32.const -1e30)))
      (br_if $more (i32.lt_u
        (local.tee $room (i32.add (local.get $room) (i32.const 16))) (local.get $end)))))

  ;; Takes a tile's scores and values into the running maximum, sum and output of each head.
  (func $weigh
    (param $v i32) (param $out i32) (param $room i32) (param $state i32) (param $heads i32)
    (param $n i32) (param $value_bytes i32) (param $stride i32)
    (local $high f32) (local $shrink f32)
    (loop $head
      (local.set $high (f32.max (f32.load (local.get $state)) (call $highest (local.get $room))))
      (local.set $shrink (f32x4.extract_lane 0 (call $exp
        (f32x4.splat (f32.sub (f32.load (local.get $state)) (local.get $high))))))
      (f32.store (local.get $state) (local.get $high))
      (f32.store offset=4 (local.get $state) (f32.add
        (f32.mul (f32.load offset=4 (local.get $state)) (local.get $shrink))
        (call $weights (local.get $room) (local.get $high))))
      (call $add_values (local.get $v) (local.get $out) (local.get $room) (local.get $n)
        (local.get $value_bytes) (local.get $stride) (local.get $shrink))
      (local.set $room (i32.add (local.get $room) (i32.const 128)))
      (local.set $state (i32.add (local.get $state) (i32.const 8)))
      (local.set $out (i32.add (local.get $out) (local.get $value_bytes)))
      (br_if $head (i32.lt_u (i32.const 0)
        (local.tee $heads (i32.sub (local.get $heads) (i32.const 1)))))))

  (func $highest (param $at i32) (result f32) (local $top f32) (local $n i32)
    (local.set $top (f32.const -1e30))
    (local.set $n (i32.const 32))
    (loop $more
      (local.set $top (f32.max (local.get $top) (f32.load (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 4)))
      (br_if $more (i32.lt_u (i32.const 0)
        (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (local.get $top))

  ;; Scores become weights, in place; gives their sum.
  (func $weights (param $at i32) (param $high f32) (result f32)
    (local $all v128) (local $four v128) (local $end i32)
    (local.set $end (i32.add (local.get $at) (i32.const 128)))
    (loop $more
      (local.set $four (call $exp
        (f32x4.sub (v128.load (local.get $at)) (f32x4.splat (local.get $high)))))
      (v128.store (local.get $at) (local.get $four))
      (local.set $all (f32x4.add (local.get $all) (local.get $four)))
      (br_if $more (i32.lt_u
        (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
    (call $sum (local.get $all)))

  ;; out = out * shrink + the tile's weighted values, sixteen columns at a time in registers.
  (func $add_values
    (param $v i32) (param $out i32) (param $weights i32) (param $n i32) (param $value_bytes i32)
    (param $stride i32) (param $shrink f32)
    (local $w v128) (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $end i32) (local $at i32) (local $value i32) (local $last i32)
    (local.set $end (i32.add (local.get $out) (local.get $value_bytes)))
    (local.set $last (i32.add (local.get $weights) (i32.shl (local.get $n) (i32.const 2))))
    (loop $columns
      (local.set $w (f32x4.splat (local.get $shrink)))
      (local.set $a (f32x4.mul (local.get $w) (v128.load (local.get $out))))
      (local.set $b (f32x4.mul (local.get $w) (v128.load offset=16 (local.get $out))))
      (local.set $c (f32x4.mul (local.get $w) (v128.load offset=32 (local.get $out))))
      (local.set $d (f32x4.mul (local.get $w) (v128.load offset=48 (local.get $out))))
      (local.set $at (local.get $weights))
      (local.set $value (local.get $v))
      (loop $key
        (local.set $w (v128.load32_splat (local.get $at)))
        (local.set $a (f32x4.add (local.get $a)
          (f32x4.mul (local.get $w) (v128.load (local.get $value)))))
        (local.set $b (f32x4.add (local.get $b)
          (f32x4.mul (local.get $w) (v128.load offset=16 (local.get $value)))))
        (local.set $c (f32x4.add (local.get $c)
          (f32x4.mul (local.get $w) (v128.load offset=32 (local.get $value)))))
        (local.set $d (f32x4.add (local.get $d)
          (f32x4.mul (local.get $w) (v128.load offset=48 (local.get $value)))))
        (local.set $value (i32.add (local.get $value) (local.get $stride)))
        (br_if $key (i32.lt_u
          (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $last))))
      (v128.store (local.get $out) (local.get $a))
      (v128.store offset=16 (local.get $out) (local.get $b))
      (v128.store offset=32 (local.get $out) (local.get $c))
      (v128.store offset=48 (local.get $out) (local.get $d))
      (local.set $v (i32.add (local.get $v) (i32.const 64)))
      (br_if $columns (i32.lt_u
        (local.tee $out (i32.add (local.get $out) (i32.const 64))) (local.get $end)))))

  ;; At the end each output is divided by its sum of weights.
  (func $divide (param $out i32) (param $state i32) (param $heads i32) (param $value_bytes i32)
    (local $end i32)
    (loop $head
      (local.set $end (i32.add (local.get $out) (local.get $value_bytes)))
      (loop $more
        (v128.store (local.get $out) (f32x4.div (v128.load (local.get $out))
          (v128.load32_splat offset=4 (local.get $state))))
        (br_if $more (i32.lt_u
          (local.tee $out (i32.add (local.get $out) (i32.const 16))) (local.get $end))))
      (local.set $state (i32.add (local.get $state) (i32.const 8)))
      (br_if $head (i32.lt_u (i32.const 0)
        (local.tee $heads (i32.sub (local.get $heads) (i32.const 1))))))))
`;var ie=`// Decode attention, first pass. A workgroup reads one span of one head's keys, once, for HEADS
// query heads that share them. What it keeps per head is a running maximum, a running sum and a
// running output; no score leaves the workgroup. For MLA, k and v are the same latents.

struct Sizes { keys: u32, span: u32, spans: u32, scale: f32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> sums: array<vec4f>; // not yet divided
@group(0) @binding(4) var<storage, read_write> states: array<vec2f>; // maximum, sum of weights
@group(0) @binding(5) var<uniform> sizes: Sizes;

const LANES = 4u; // threads that share the dot products of one key
const AT_ONCE = THREADS / LANES; // keys
const COLUMNS = VALUE_DIM / 4u; // one thread per column: four values
const ROWS = THREADS / COLUMNS; // values that are added at the same time
const TILE = 32u; // keys between two looks at the maximum
const LOW = -1e30; // below every score

var<workgroup> queries: array<vec4f, HEADS * KEY_DIM / 4u>;
var<workgroup> parts: array<f32, HEADS * TILE * LANES>;
var<workgroup> scores: array<f32, HEADS * TILE>;
var<workgroup> weights: array<f32, HEADS * TILE>;
var<workgroup> row_outs: array<vec4f, THREADS>;
var<workgroup> row_sums: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn attend(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let first_head = group.x * HEADS;
  let from_key = group.x / BLOCKS * sizes.keys; // of this key/value head
  let start = group.y * sizes.span;
  let end = min(start + sizes.span, sizes.keys);
  let lane = thread % LANES;
  let column = thread % COLUMNS;
  let row = thread / COLUMNS;
  for (var i = thread; i < HEADS * KEY_DIM / 4u; i += THREADS) {
    queries[i] = q[first_head * KEY_DIM / 4u + i];
  }
  var top: array<f32, HEADS>;
  var sum: array<f32, HEADS>;
  var out: array<vec4f, HEADS>;
  for (var h = 0u; h < HEADS; h += 1u) { top[h] = LOW; }
  workgroupBarrier();

  for (var tile = start; tile < end; tile += TILE) {
    // Each lane multiplies its columns of a key with those of every query.
    for (var at = thread / LANES; at < TILE; at += AT_ONCE) {
      var dots = array<f32, HEADS>(); // SwiftShader keeps the last round's where no value is given
      if (tile + at < end) {
        let key = (from_key + tile + at) * (KEY_DIM / 4u);
        for (var c = lane; c < KEY_DIM / 4u; c += LANES) {
          let four = k[key + c];
          for (var h = 0u; h < HEADS; h += 1u) { dots[h] += dot(four, queries[h * KEY_DIM / 4u + c]); }
        }
      }
      for (var h = 0u; h < HEADS; h += 1u) { parts[(h * TILE + at) * LANES + lane] = dots[h]; }
    }
    workgroupBarrier();
    if (thread < HEADS * TILE) {
      var score = 0.0;
      for (var l = 0u; l < LANES; l += 1u) { score += parts[thread * LANES + l]; }
      scores[thread] = select(LOW, score * sizes.scale, tile + thread % TILE < end);
    }
    workgroupBarrier();
    // A new maximum shrinks all that was added before it.
    for (var h = 0u; h < HEADS; h += 1u) {
      var high = top[h];
      for (var at = 0u; at < TILE; at += 1u) { high = max(high, scores[h * TILE + at]); }
      let shrink = exp(top[h] - high);
      top[h] = high;
      sum[h] *= shrink;
      out[h] *= shrink;
      if (thread / TILE == h) { weights[thread] = exp(scores[thread] - high); }
    }
    workgroupBarrier();
    for (var at = row; at < min(TILE, end - tile); at += ROWS) {
      let four = v[(from_key + tile + at) * STRIDE + column];
      for (var h = 0u; h < HEADS; h += 1u) {
        out[h] += weights[h * TILE + at] * four;
        sum[h] += weights[h * TILE + at];
      }
    }
  }

  // The rows added different values: their sums are added up, and written.
  for (var h = 0u; h < HEADS; h += 1u) {
    row_outs[thread] = out[h];
    row_sums[thread] = sum[h];
    workgroupBarrier();
    if (row == 0u) {
      for (var r = 1u; r < ROWS; r += 1u) {
        out[h] += row_outs[r * COLUMNS + column];
        sum[h] += row_sums[r * COLUMNS + column];
      }
      let place = (first_head + h) * sizes.spans + group.y;
      sums[place * COLUMNS + column] = out[h];
      if (column == 0u) { states[place] = vec2f(top[h], sum[h]); }
    }
    workgroupBarrier();
  }
}
`;var ne=`// c = a @ b, all (n, n). A workgroup of 16 x 16 threads computes a tile of 64 x 64, each thread 4 x 4
// numbers of it in registers. Tiles of a and b are 16 deep; n is a multiple of 64.

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(3) var<uniform> n: u32;

var<workgroup> left: array<array<vec4f, 4>, 64>; // 64 rows of a, 16 numbers of each
var<workgroup> right: array<array<vec4f, 16>, 16>; // 16 rows of b, 64 numbers of each

@compute @workgroup_size(16, 16)
fn matmul(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_id) local: vec3u,
  @builtin(local_invocation_index) thread: u32,
) {
  let wide = n / 4u;
  var sums: array<vec4f, 4>;
  for (var deep = 0u; deep < n; deep += 16u) {
    left[thread / 4u][thread % 4u] = a[(group.y * 64u + thread / 4u) * wide + deep / 4u + thread % 4u];
    right[thread / 16u][thread % 16u] = b[(deep + thread / 16u) * wide + group.x * 16u + thread % 16u];
    workgroupBarrier();
    for (var p = 0u; p < 4u; p += 1u) {
      for (var i = 0u; i < 4u; i += 1u) {
        let four = left[local.y * 4u + i][p];
        sums[i] += four.x * right[4u * p][local.x] + four.y * right[4u * p + 1u][local.x]
          + four.z * right[4u * p + 2u][local.x] + four.w * right[4u * p + 3u][local.x];
      }
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < 4u; i += 1u) {
    c[(group.y * 64u + local.y * 4u + i) * wide + group.x * 16u + local.x] = sums[i];
  }
}
`;var I=`// What is drawn, read and copied. Every thread takes each STEP-th place of an array.

struct Sizes { k: u32, v: u32, seed: u32, wide: f32 } // places of four numbers

@group(0) @binding(0) var<storage, read> k: array<vec4f>;
@group(0) @binding(1) var<storage, read> v: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> to: array<vec4f>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

const STEP = GROUPS * THREADS;

// The i-th number follows from i alone: random.js draws the same.
fn number(i: u32) -> f32 {
  var x = i * 0x9e3779b1u + sizes.seed * 0x85ebca6bu;
  x = (x ^ (x >> 16u)) * 0x21f0aaadu;
  x = (x ^ (x >> 15u)) * 0x735a2d97u;
  return sizes.wide * (f32((x ^ (x >> 15u)) >> 8u) / 8388608.0 - 1.0);
}

@compute @workgroup_size(THREADS)
fn draw(@builtin(global_invocation_id) id: vec3u) {
  for (var i = id.x; i < sizes.k; i += STEP) {
    to[i] = vec4f(number(4u * i), number(4u * i + 1u), number(4u * i + 2u), number(4u * i + 3u));
  }
}

@compute @workgroup_size(THREADS)
fn read_all(@builtin(global_invocation_id) id: vec3u) {
  var sum = vec4f();
  for (var i = id.x; i < sizes.k; i += STEP) { sum += k[i]; }
  for (var i = id.x; i < sizes.v; i += STEP) { sum += v[i]; }
  to[id.x] = sum; // or the compiler would leave out the reading
}

@compute @workgroup_size(THREADS)
fn copy(@builtin(global_invocation_id) id: vec3u) {
  for (var i = id.x; i < sizes.k; i += STEP) { to[i] = k[i]; }
}
`;var le=`// Decode attention, second pass. A workgroup joins the spans of one head: each had its own maximum,
// so its sums are scaled to the largest of all. Then the output is divided by the sum of weights.

struct Sizes { keys: u32, span: u32, spans: u32, scale: f32 }

@group(0) @binding(0) var<storage, read> sums: array<vec4f>;
@group(0) @binding(1) var<storage, read> states: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

const COLUMNS = VALUE_DIM / 4u;

@compute @workgroup_size(THREADS)
fn merge(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let first = group.x * sizes.spans;
  var top = states[first].x;
  for (var s = 1u; s < sizes.spans; s += 1u) { top = max(top, states[first + s].x); }
  var sum = 0.0;
  for (var s = 0u; s < sizes.spans; s += 1u) {
    sum += exp(states[first + s].x - top) * states[first + s].y;
  }
  for (var c = thread; c < COLUMNS; c += THREADS) {
    var total = vec4f();
    for (var s = 0u; s < sizes.spans; s += 1u) {
      total += exp(states[first + s].x - top) * sums[(first + s) * COLUMNS + c];
    }
    out[group.x * COLUMNS + c] = total / sum;
  }
}
`;var Nt=256,[Pt,Dt,V,L]=[128,64,256,1024],Ut=4,Ue=16384,ce="timestamp-query",Ct=a=>Object.entries(a).map(([e,t])=>`const ${e} = ${t}u;
`).join("");function de({n_heads:a,n_kv_heads:e,key_dim:t,value_dim:o,latent:s}){let r=a/e,i=Math.min(r,Ut);return{HEADS:i,BLOCKS:r/i,KEY_DIM:t,VALUE_DIM:o,STRIDE:(s?t:o)/4,THREADS:Pt}}async function Ce(){if(!isSecureContext)return{why:"insecure"};if(!navigator.gpu)return{why:"missing"};let a=await navigator.gpu.requestAdapter({powerPreference:"high-performance"}).catch(()=>null);if(!a)return{why:"adapter"};let e=a.features.has(ce),t=await a.requestDevice({requiredFeatures:e?[ce]:[]}).catch(()=>null);return t?{gpu:new ue(a,t,e)}:{why:"device"}}var N=class extends Error{},ue=class{constructor(e,t,o){Object.assign(this,{device:t,stamps:o,limits:t.limits,buffers:{},pipelines:{}});let{vendor:s,architecture:r,device:i,description:n}=e.info??{},l=e.info?.isFallbackAdapter??e.isFallbackAdapter??!1;this.adapter={vendor:s??"",architecture:r??"",device:i??"",description:n??"",software:l},this.fault=new Promise((c,u)=>{t.lost.then(({reason:d,message:m})=>u(new N(m||d))),t.addEventListener("uncapturederror",({error:d})=>u(new N(d.message)))}),this.fault.catch(()=>{}),o&&this.addStamps()}addStamps(){this.queries=this.device.createQuerySet({type:"timestamp",count:2}),this.resolved=this.device.createBuffer({size:16,usage:GPUBufferUsage.QUERY_RESOLVE|GPUBufferUsage.COPY_SRC}),this.told=this.device.createBuffer({size:16,usage:GPUBufferUsage.MAP_READ|GPUBufferUsage.COPY_DST})}soon(e){return Promise.race([e,this.fault])}storage(e,t){this.buffers[e]?.destroy();let o=GPUBufferUsage.STORAGE|GPUBufferUsage.COPY_SRC|GPUBufferUsage.COPY_DST;return this.buffers[e]=this.device.createBuffer({size:t,usage:o}),this.buffers[e]}async allocate(e){let t=Math.min(this.limits.maxStorageBufferBindingSize,this.limits.maxBufferSize);if(e*Ue>t)return!1;this.device.pushErrorScope("out-of-memory");for(let o of["k","v"])this.storage(o,e*Ue);for(let[o,s]of[["q",2**16],["out",2**16],["sums",2**21],["states",2**14],["to",L*V*16]])this.buffers[o]||this.storage(o,s);return await this.soon(this.device.popErrorScope())?!1:(this.keys=e,!0)}pipeline(e,t,o){let s=JSON.stringify([t,o]);return this.pipelines[s]??=this.device.createComputePipeline({layout:"auto",compute:{entryPoint:t,module:this.device.createShaderModule({code:Ct(o)+e})}}),this.pipelines[s]}uniform(e,t=[]){let o=4*(e.length+t.length),s=this.device.createBuffer({size:Math.max(16,o),usage:GPUBufferUsage.UNIFORM|GPUBufferUsage.COPY_DST});return this.device.queue.writeBuffer(s,0,new Uint32Array(e)),t.length&&this.device.queue.writeBuffer(s,4*e.length,new Float32Array(t)),s}part([e,t],o){return{buffer:this.buffers[e],offset:t,size:o}}step(e,t,o,s=1){let r=e.getBindGroupLayout(0),i=l=>l instanceof GPUBuffer?{buffer:l}:l,n=[t].flat().map(l=>this.device.createBindGroup({layout:r,entries:Object.entries(l).map(([c,u])=>({binding:Number(c),resource:i(u)}))}));return{pipeline:e,x:o,y:s,groups:n,turn:0}}drawing(e,t,o,s=1){let r=this.pipeline(I,"draw",{GROUPS:L,THREADS:V});return[this.step(r,{2:this.buffers[e],3:this.uniform([o/4,0,t],[s])},L)]}reading(e,t,o=[{k:["k",0],v:["v",0]}]){let s=this.pipeline(I,"read_all",{GROUPS:L,THREADS:V}),r={2:this.buffers.to,3:this.uniform([e/16,t/16,0,0])};return[this.step(s,o.map(({k:i,v:n})=>({0:this.part(i,e),1:this.part(n,t||e),...r})),L)]}copying(e){let{k:t,v:o}=this.buffers,s=this.pipeline(I,"copy",{GROUPS:L,THREADS:V});return[this.step(s,{0:t,2:o,3:this.uniform([e/16,0,0,0])},L)]}product(e){let{k:t,v:o}=this.buffers,s=this.storage("c",4*e*e);return[this.step(this.pipeline(ne,"matmul",{}),{0:t,1:o,2:s,3:this.uniform([e,0,0,0])},e/64,e/64)]}attention(e,t,o,s=Nt){let{q:r,out:i,sums:n,states:l}=this.buffers,c=4*t*e.n_kv_heads*e.key_dim,u=de(e),d=Math.ceil(t/s),m=this.uniform([t,s,d],[e.scale]),$=this.pipeline(ie,"attend",u),v=this.pipeline(le,"merge",{VALUE_DIM:e.value_dim,THREADS:Dt});return[this.step($,o.map(({k:w,v:b})=>({0:r,1:this.part(w,c),2:this.part(b,c),3:n,4:l,5:m})),e.n_heads/u.HEADS,d),this.step(v,{0:n,1:l,2:i,3:m},e.n_heads)]}async run(e,t=1){let o=this.device.createCommandEncoder(),s=this.stamps?{querySet:this.queries,beginningOfPassWriteIndex:0,endOfPassWriteIndex:1}:void 0,r=o.beginComputePass({timestampWrites:s});for(let l=0;l<t;l+=1)for(let c of e)r.setPipeline(c.pipeline),r.setBindGroup(0,c.groups[c.turn]),r.dispatchWorkgroups(c.x,c.y),c.turn=(c.turn+1)%c.groups.length;r.end(),this.stamps&&(o.resolveQuerySet(this.queries,0,2,this.resolved,0),o.copyBufferToBuffer(this.resolved,0,this.told,0,16));let i=performance.now();this.device.queue.submit([o.finish()]),await this.soon(this.device.queue.onSubmittedWorkDone());let n=(performance.now()-i)/1e3;return this.stamps?this.stamped(n):n}async stamped(e){await this.soon(this.told.mapAsync(GPUMapMode.READ));let[t,o]=new BigUint64Array(this.told.getMappedRange().slice(0));this.told.unmap();let s=Number(o-t)/1e9;return s>=0&&s<=1.05*e+.001?s:(this.stamps=!1,e)}get clock(){return this.stamps?ce:"performance.now"}async numbers(e,t){let o=4*t,s=this.device.createBuffer({size:o,usage:GPUBufferUsage.MAP_READ|GPUBufferUsage.COPY_DST}),r=this.device.createCommandEncoder();r.copyBufferToBuffer(this.buffers[e],0,s,0,o),this.device.queue.submit([r.finish()]),await this.soon(s.mapAsync(GPUMapMode.READ));let i=new Float32Array(s.getMappedRange().slice(0));return s.destroy(),i}close(){this.device.destroy()}},j={attend:ie,merge:le,memory:I,matmul:ne};var fe={i32:127,f32:125,v128:123},Ht={"i32.add":106,"i32.sub":107,"i32.mul":108,"i32.shl":116,"i32.lt_u":73,select:27,"f32.load":42,"f32.store":56,"f32.add":146,"f32.sub":147,"f32.mul":148,"f32.div":149,"f32.max":151},He={"v128.load":0,"v128.load32_splat":9,"v128.store":11,"i32x4.splat":17,"f32x4.splat":19,"f32x4.extract_lane":31,"f32x4.nearest":106,"i32x4.shl":171,"i32x4.add":174,"f32x4.add":228,"f32x4.sub":229,"f32x4.mul":230,"f32x4.div":231,"f32x4.max":233,"i32x4.trunc_sat_f32x4_s":248},Ie={"local.get":32,"local.set":33,"local.tee":34},y=a=>a<128?[a]:[a&127|128,...y(a>>>7)],je=a=>a>=-64&&a<64?[a&127]:[a&127|128,...je(a>>7)],It=a=>[...new Uint8Array(new Float32Array([a]).buffer)],pe=a=>[...y(a.length),...new TextEncoder().encode(a)],B=a=>[...y(a.length),...a.flat()],R=(a,e)=>[a,...y(B(e).length),...B(e)];function jt(a){let e=[[]];for(let[t]of a.replace(/;;.*/g,"").matchAll(/[()]|"[^"]*"|[^\s()]+/g))if(t==="(")e.push([]);else if(t===")"){let o=e.pop();e.at(-1).push(o)}else e.at(-1).push(t);if(e.length!==1)throw new SyntaxError("a bracket is missing");return e[0]}function me(a,e){let[t,...o]=a;if(t==="loop"){let i={...e,labels:[o[0],...e.labels]};return[3,64,...o.slice(1).flatMap(n=>me(n,i)),11]}let s=o.filter(i=>typeof i=="string");return[...o.filter(Array.isArray).flatMap(i=>me(i,e)),...Rt(t,s,e)]}function Rt(a,[e],{locals:t,functions:o,labels:s}){if(a in Ie)return[Ie[a],...y(he(t,e))];if(a==="call")return[16,...y(he(o,e))];if(a==="br_if")return[13,...y(he(s,e))];if(a==="i32.const")return[65,...je(Number(e))];if(a==="f32.const")return[67,...It(Number(e))];let r=a in He?[253,...y(He[a])]:[Ht[a]];if(r[0]===void 0)throw new SyntaxError(`no instruction ${a}`);return/load|store/.test(a)?[...r,2,...y(Number(e?.replace("offset=","")??0))]:a.endsWith("_lane")?[...r,Number(e)]:r}function he(a,e){let t=a.indexOf(e);if(t<0)throw new SyntaxError(`no name ${e}`);return t}function Bt(a){let e=t=>a.filter(([o])=>o===t);return{exported:e("export")[0]?.[1].slice(1,-1),params:e("param"),results:e("result"),kept:e("local"),body:a.filter(t=>Array.isArray(t)&&!["export","param","result","local"].includes(t[0]))}}function Re(a){let e=jt(a)[0].slice(1).map(([,...l])=>l),t=e.map(([l])=>l),o=e.map(l=>Bt(l.slice(1))),s=o.map(({params:l,results:c})=>[96,...B(l.map(u=>[fe[u[2]]])),...B(c.map(u=>[fe[u[1]]]))]),r=o.map(({params:l,kept:c,body:u})=>{let d={functions:t,labels:[],locals:[...l,...c].map($=>$[1])},m=[...B(c.map($=>[1,fe[$[2]]])),...u.flatMap($=>me($,d)),11];return[...y(m.length),...m]}),i=o.flatMap(({exported:l},c)=>l?[[...pe(l),0,...y(c)]]:[]),n=[R(1,s),R(2,[[...pe("js"),...pe("memory"),2,0,1]]),R(3,o.map((l,c)=>y(c))),R(7,i),R(10,r)];return new Uint8Array([0,97,115,109,1,0,0,0,...n.flat()])}function $e(a){let e=.5,t=.5,o=.5,s=.5;for(let r=0;r<a.length;r+=4)e+=a[r],t+=a[r+1],o+=a[r+2],s+=a[r+3];return e+t+(o+s)-2}var ge=12;function xe(a,e){let[t,o]=[.75,.25],s=e,r=e+1,i=e+2,n=e+3,l=e+4,c=e+5,u=e+6,d=e+7,m=e+8,$=e+9,v=e+10,w=e+11;for(let b=0;b<a;b+=1)s=s*t+o,r=r*t+o,i=i*t+o,n=n*t+o,l=l*t+o,c=c*t+o,u=u*t+o,d=d*t+o,m=m*t+o,$=$*t+o,v=v*t+o,w=w*t+o;return s+r+i+n+l+c+(u+d+m+$+v+w)}function be(a,e,t=0,o=1){let s=Math.imul(e,2246822507);for(let r=0;r<a.length;r+=1){let i=Math.imul(r+t,2654435761)+s|0;i=Math.imul(i^i>>>16,569420461),i=Math.imul(i^i>>>15,1935289751),a[r]=o*(((i^i>>>15)>>>8)/8388608-1)}return a}var qt=65536,Gt=2**26,zt=2**22,ye=2**18;function Wt(){let a=t=>Array.from({length:ge},(o,s)=>t(`$c${s}`,s)).join(`
    `),e=Array.from({length:ge-1},(t,o)=>o+1).reduce((t,o)=>`(f32x4.add ${t} (local.get $c${o}))`,"(local.get $c0)");return K.replace("CHAINS.locals",a(t=>`(local ${t} v128)`)).replace("CHAINS.start",a((t,o)=>`(local.set ${t} (f32x4.splat (f32.add (local.get $start) (f32.const ${o}))))`)).replace("CHAINS.step",a(t=>`(local.set ${t} (f32x4.add (f32x4.mul (local.get ${t}) (local.get $by)) (local.get $plus)))`)).replace("CHAINS.sum",e)}function Be(a=Gt){let e=(2*a+ye)/qt;try{return{half:a,memory:new WebAssembly.Memory({initial:e,maximum:e})}}catch(t){if(a===zt)throw t;return Be(a/2)}}async function qe(a){let e=await WebAssembly.compile(Re(Wt())),t=Be(a),{exports:o}=await WebAssembly.instantiate(e,{js:{memory:t.memory}});return new ve(t,o)}var ve=class{constructor({half:e,memory:t},o){Object.assign(this,{half:e,memory:t,exports:o}),this.places={k:0,v:e,q:2*e,out:2*e+ye/4,room:2*e+ye/2}}numbers(e,t){return new Float32Array(this.memory.buffer,this.places[e],t)}async draw(e,t,o=2**22){for(let s of["k","v"])for(let r=0;r<this.half/4;r+=o){let i=Math.min(o,this.half/4-r);be(new Float32Array(this.memory.buffer,this.places[s]+4*r,i),e[s],r),await t()}}at([e,t]){return this.places[e]+t}holds({n_kv_heads:e,key_dim:t}){return Math.floor(this.half/(4*e*t))}read(e,t,o={k:["k",0],v:["v",0]}){let[s,r]=[this.at(o.k),this.at(o.v)];return this.exports.read(s,s+e)+(t?this.exports.read(r,r+t):0)}ask({n_heads:e,key_dim:t},o,s){be(this.numbers("q",e*t),o,0,s)}attend({n_heads:e,n_kv_heads:t,key_dim:o,value_dim:s,latent:r,scale:i},n,l){let{q:c,out:u,room:d}=this.places,[m,$]=[this.at(l.k),this.at(l.v)],v=e/t,w=4*(r?o:s);for(let b=0;b<t;b+=1)this.exports.attend(c+b*v*4*o,m+b*n*4*o,$+b*n*w,u+b*v*4*s,d,v,n,4*o,4*s,w,i)}output({n_heads:e,value_dim:t}){return this.numbers("out",e*t).slice()}};var we=5,Ft=.02,Yt=10,Kt=100,Ge=2**16,[ze,We,Vt]=[1024,8192,4096],[Xt,Jt]=[256,2048],Qt=64,X=1e5,Zt=2e3,Fe={js:24,wasm:96},q=class extends Error{},J=()=>performance.now()/1e3;function e0(a=5){let e=0;for(let t=0,o=J();t<a;){let s=J();s!==o&&(e=Math.max(e,s-o),o=s,t+=1)}return e}var Q=class{constructor({show:e=()=>{},book:t="",half:o}={}){Object.assign(this,{show:e,half:o,stopped:null});let s=e0();this.least=Math.max(Ft,Yt*s),this.result={format:"your-machine 2",date:new Date().toISOString(),book:t,browser:{agent:navigator.userAgent,threads:navigator.hardwareConcurrency??0},clock:{tick_seconds:s,least_seconds:this.least,isolated:globalThis.crossOriginIsolated===!0},repeats:we,numbers:"float32",places:[],missing:{}}}stop(e){this.stopped??=e}async pause(){if(await new Promise(e=>{requestAnimationFrame(()=>setTimeout(e)),setTimeout(e,Kt)}),this.stopped)throw new q(this.stopped)}async timed(e){let t=1;for(await e(1);;){let r=await e(t);if(await this.pause(),r>=this.least||t>=Ge)break;t=Math.min(Ge,Math.ceil(t*Math.min(100,Math.max(2,1.3*this.least/Math.max(r,1e-6)))))}let o=[];for(let r=0;r<we;r+=1)o.push(await e(t)/t),await this.pause();let s=[...o].sort((r,i)=>r-i);return{seconds:s[0],spread:s[we>>1]/s[0]-1,times:t,repeats:o}}clocked(e){let t=0;return this.timed(async o=>{let s=J();for(let r=t+o;t<r;t+=1)e(t);return J()-s})}place(e){let t={...e,keys:0,rates:{},tolerance:C,checks:{},cases:{}};return this.result.places.push(t),t}async rate(e,t,o,s){e.rates[t]={...o,...await s},this.show(this.result,"rates")}async predict(e,t,o){let s=E(e);e.keys=t;for(let r of p){let{seconds:i,limit:n}=Y(oe(r,t),s);e.cases[r]={...oe(r,t),layers:H(f[r],t,o).length,predicted_seconds:i,limit:n}}this.show(this.result,"predicted"),await this.pause()}async attend(e,t,{ask:o,output:s,attention:r,reading:i}){for(let n of p){let{bytes_per_key:l,latent:c}=f[n],[u,{keys:d}]=[f[n],e];await o(u);let m=Pe(u.expected,await s(u,H(u,_.check_keys,t)[0]));if(e.checks[n]={compared:u.expected.length,largest_difference:Number.isFinite(m)?m:null},!(m<=C))continue;let $=H(u,d,t),v=c?[l*d,0]:[l*d/2,l*d/2],w=await i(v,$),b=await r(u,1,$.slice(0,1));Object.assign(e.cases[n],{reading_seconds:w.seconds,reading_spread:w.spread,starting_seconds:b.seconds},await r(u,d,$)),this.show(this.result,"attention")}}async cpu(){let e=await qe(this.half),t=this.place({kind:"cpu",name:"WebAssembly, one thread",adapter:null,clock:"performance.now"});await e.draw(_.seeds,()=>this.pause());let{half:o}=e,s=[e.numbers("k",o/4),e.numbers("v",o/4)];for(let r=0;r<Zt;r+=1)$e(s[0].subarray(0,4))&&xe(1,.5);await this.rate(t,"read",{bytes:2*o},this.clocked(()=>e.read(o,o))),await this.rate(t,"read, JavaScript",{bytes:2*o},this.clocked(()=>s.map(r=>$e(r)))),await this.rate(t,"multiply-add",{flops:Fe.wasm*X},this.clocked(()=>e.exports.multiply_add(X,.5))),await this.rate(t,"multiply-add, JavaScript",{flops:Fe.js*X},this.clocked(()=>xe(X,.5))),await this.predict(t,Math.min(Vt,...p.map(r=>e.holds(f[r]))),o),await this.attend(t,o,{ask:r=>e.ask(r,_.seeds.q,_.query_width),output:(r,i)=>(e.attend(r,_.check_keys,i),e.output(r)),attention:(r,i,n)=>this.clocked(l=>e.attend(r,i,n[l%n.length])),reading:([r,i],n)=>this.clocked(l=>e.read(r,i,n[l%n.length]))})}async gpu(){let{gpu:e,why:t}=await Ce();if(!e){this.result.missing.gpu=t;return}try{await this.onDevice(e)}catch(o){if(!(o instanceof N))throw o;this.result.places=this.result.places.filter(({kind:s})=>s!=="gpu"),this.result.missing.gpu=`lost: ${o.message.slice(0,300)}`}finally{e.close()}}async grow(e){for(let t=ze;;t*=2){if(!await e.allocate(t)){if(t===ze||!await e.allocate(t/2))throw new N("there is no room for 1,024 keys");t=We}for(let s of["k","v"])await e.run(e.drawing(s,_.seeds[s],e.buffers[s].size/4));let o=e.attention(f.mha,e.keys,H(f.mha,e.keys,e.buffers.k.size));if(await e.run(o),await this.pause(),t>=We||await e.run(o)>=this.least)return}}async product(e,t){let o=Xt,s=e.product(o);for(await e.run(s),t.checks.matmul=await t0(e,o);o<Jt&&await e.run(e.product(o))<this.least;)o*=2;let r=e.product(o);await this.rate(t,"matmul",{flops:2*o**3},this.timed(i=>e.run(r,i)))}async onDevice(e){let{adapter:t}=e,o=t.description||[t.vendor,t.device||t.architecture].filter(Boolean).join(" ")||"unnamed adapter";await this.grow(e);let s=this.place({kind:"gpu",name:o,adapter:t,clock:e.clock}),r=e.buffers.k.size,i=n=>this.timed(l=>e.run(n,l));await this.rate(s,"read",{bytes:2*r},i(e.reading(r,r))),await this.product(e,s),await this.rate(s,"copy",{bytes:2*r},i(e.copying(r))),await e.run(e.drawing("v",_.seeds.v,r/4)),await this.predict(s,e.keys,r),await this.attend(s,r,{ask:({n_heads:n,key_dim:l})=>e.run(e.drawing("q",_.seeds.q,n*l,_.query_width)),output:async(n,l)=>(await e.run(e.attention(n,_.check_keys,[l],Qt)),e.numbers("out",n.n_heads*n.value_dim)),attention:(n,l,c)=>i(e.attention(n,l,c)),reading:([n,l],c)=>i(e.reading(n,l,c))}),s.clock=e.clock}async run(){await this.pause();try{await this.cpu()}catch(e){if(!(e instanceof WebAssembly.CompileError||e instanceof RangeError))throw e;this.result.missing.cpu=e.message.slice(0,300)}return await this.gpu(),this.result}};async function t0(a,e){let[t,o,s]=await Promise.all(["k","v","c"].map(i=>a.numbers(i,e*e))),r=Array.from({length:8},(i,n)=>{let l=n*e/8+n,c=0;for(let u=0;u<e;u+=1)c+=t[l*e+u]*o[u*e+l];return Math.abs(c-s[l*e+l])});return{compared:8,largest_difference:Math.max(...r)}}var _e=' text-anchor="middle"',ke=' text-anchor="end"',h=a=>Math.round(a*10)/10;function P(a,e,t,o,s=""){return`<text x="${h(a)}" y="${h(e)}" class="${o}"${s}>${g(t)}</text>`}function D(a,e,t,o,s){return`<line x1="${h(a)}" y1="${h(e)}" x2="${h(t)}" y2="${h(o)}" class="${s}"/>`}function Z(a,e,t,o,s,r="",i=3){return`<rect x="${h(a)}" y="${h(e)}" width="${h(t)}" height="${h(o)}" rx="${i}" class="${s}"${r}/>`}function Ye(a,e,t,{live:o,label:s},r){return`<svg xmlns="http://www.w3.org/2000/svg" class="${a}-picture" viewBox="0 0 ${e} ${t}" width="${e}" height="${t}" role="${o?"group":"img"}" aria-label="${g(s)}">${r}</svg>`}var Ke=[[1e18,"E"],[1e15,"P"],[1e12,"T"],[1e9,"G"],[1e6,"M"],[1e3,"k"],[1,""]],a0=a=>Ke.find(([e])=>a>=e)??Ke.at(-1),Ve=a=>a>=100?O(Math.round(a)):M(a,a>=10?1:2);function x(a,e,t=Ve){let[o,s]=a0(a);return`${t(a/o)} ${s}${e}`}function k(a,e=Ve){return a>=1?`${e(a)} s`:a>=.001?`${e(a*1e3)} ms`:`${e(a*1e6)} µs`}var G=[.25,1024],o0=[.25,1,4,16,64,256,1024],Xe=[1e9,1e14],Je=560,Qe=16,Ze=([a,e],[t,o])=>s=>t+(o-t)*Math.log(s/a)/Math.log(e/a),s0={stored:a=>a.split(",")[0]},r0=({key:a,name:e})=>(s0[a]??(t=>t.split(" ")[0]))(e);function i0(a,e){let t=U.map((s,r)=>({...s,short:r0(s),style:`ym-other ym-dash-${r}`})).filter(({key:s})=>e[s]),o=(a?.places??[]).filter(E).map(s=>({...E(s),key:s.kind,short:s.kind==="cpu"?"this CPU":s.adapter.software?"software":"this GPU",style:`ym-own ym-${s.kind}`,place:s}));return[...t,...o]}function n0(a){let e=Math.min(Xe[0],...a.flatMap(({bytes_per_second:o,place:s})=>[G[0]*o,...l0(s)])),t=Math.max(Xe[1],...a.map(({flops_per_second:o})=>o));return[10**Math.floor(Math.log10(e)),10**Math.ceil(Math.log10(t))]}var l0=a=>p.map(e=>a?.cases[e]).filter(e=>e?.seconds).map(({flops:e,seconds:t})=>e/t);function et(a,e,t,o){return a==="mha"?Z(e-5.5,t-5.5,11,11,o,"",2):a==="gqa"?`<path d="M${h(e)} ${h(t-7)} l7 12 h-14 Z" class="${o}"/>`:`<circle cx="${h(e)}" cy="${h(t)}" r="6" class="${o}"/>`}function c0(a,{x:e,y:t},[o,s]){let r=Array.from({length:Math.round(Math.log10(s/o))+1},(i,n)=>o*10**n);return[...o0.map(i=>D(e(i),a.top,e(i),a.bottom,"ym-grid")+P(e(i),a.bottom+16,i.toLocaleString("en"),"ym-quiet",_e)),...r.map(i=>D(a.left,t(i),a.right,t(i),"ym-grid")+P(a.left-6,t(i)+4,x(i,"",n=>String(Math.round(n))),"ym-quiet",ke)),P(0,12,"FLOP/s","ym-quiet"),P(a.right,a.bottom+34,"FLOPs per byte","ym-quiet",ke)].join("")}function u0(a,{x:e}){return p.map(t=>D(e(S(t)),a.top,e(S(t)),a.bottom,"ym-column")+P(e(S(t)),a.top-8,T(t),"ym-name",_e)).join("")}function d0({bytes_per_second:a,flops_per_second:e,style:t},o,{x:s,y:r}){let i=Math.max(G[0],Math.min(e/a,G[1]));return`<path d="M${h(o.left)} ${h(r(Math.min(G[0]*a,e)))} L${h(s(i))} ${h(r(Math.min(i*a,e)))} H${h(o.right)}" class="ym-roof ${t}"/>`}function f0(a,e,{y:t}){let o=a.map(r=>({...r,end:t(r.flops_per_second)})).sort((r,i)=>r.end-i.end||i.bytes_per_second-r.bytes_per_second),s=-Qe;return o.map(({short:r,style:i,end:n})=>(s=Math.max(n,s+Qe),D(e.right,n,e.right+22,s,`ym-lead ${i}`)+P(e.right+26,s+4,r,i.includes("own")?"ym-name":"ym-quiet"))).join("")}function p0({place:a,style:e,...t},{x:o,y:s}){return p.map(r=>{let i=o(S(r)),{seconds:n}=Y({bytes:1,flops:S(r)},t),l=s(S(r)/n),c=et(r,i,l,`ym-mark ym-hollow ${e}`),u=a?.cases[r];if(!u?.seconds)return c;let d=s(u.flops/u.seconds);return D(i,l,i,d,`ym-fall ${e}`)+c+et(r,i,d,`ym-mark ${e}`)}).join("")}function tt(a,e,{width:t,label:o}){let s=i0(a,e),r={left:44,right:t-(t<Je?84:104),top:44,bottom:t<Je?300:340},i=n0(s),n={x:Ze(G,[r.left,r.right]),y:Ze(i,[r.bottom,r.top])},l=c0(r,n,i)+u0(r,n)+s.map(c=>d0(c,r,n)).join("")+s.map(c=>p0(c,n)).join("")+f0(s,r,n);return Ye("ym-roofs",t,r.bottom+42,{label:o},l)}function at({predicted_seconds:a,seconds:e=0},t,o,s){let r=l=>Math.max(2,(s-4)*l/t),n=(e?Z(2,7,r(e),12,`ym-fill ym-${o}`):"")+Z(2,2,r(a),22,`ym-outline ym-${o}`);return`<svg class="ym-bar" viewBox="0 0 ${s} 26" width="${s}" height="26" aria-hidden="true">${n}</svg>`}var ot=({cases:a})=>Math.max(...Object.values(a).flatMap(e=>[e.predicted_seconds,e.seconds??0]));var h0=2**26,Se={start:"Drawing keys and values …",rates:"Measuring how fast it reads and multiplies …",predicted:"Outlines are predictions. Now decode attention …",attention:"Measuring decode attention …"},st={hidden:"The tab went to the background, where browsers slow everything down. Nothing was kept: measure again with the tab in front.",button:"Stopped. Nothing was kept."},m0={insecure:"No GPU: this page came over plain http from another host, and browsers offer WebGPU only over https, from localhost and from files.",missing:"No GPU: this browser has no WebGPU, or it's switched off.",adapter:"No GPU: the browser has WebGPU, but gave no adapter. That's usual on a virtual machine, over a remote desktop and with a driver that the browser distrusts. If this computer has a GPU, switch on hardware acceleration in the browser's settings, update the driver, or try another browser; chrome://gpu (in Firefox about:support) names the reason.",device:"No GPU: the adapter gave no device."},$0="The GPU was lost during the measurement, so none of its numbers were kept",rt=a=>m0[a]??`${$0} (${a.replace(/^lost: /,"")}).`,it=a=>`No processor: WebAssembly with vectors didn't start (${a}).`,z=a=>M(a,a<10?1:0),W=a=>`${M(100*a,a<.1?1:0)}%`;function nt({kind:a,name:e,adapter:t}){return a==="cpu"?`Your processor (${e})`:t.software?`A software adapter (${e}): your processor plays the GPU`:`Your GPU (${e})`}function lt(a){let e=E(a);return e?`${x(e.bytes_per_second,"B/s")} (${e.by.reading}) and ${x(e.flops_per_second,"FLOP/s")} (${e.by.arithmetic}), so its ridge point is at ${M(e.flops_per_second/e.bytes_per_second,1)} FLOPs per byte.`:""}function ct({keys:a,rates:e,cases:t}){if(!a)return"";let{bytes:o}=e.read,s=o<h0?" So little may stay in a processor's cache, for the rate and the kernels alike.":"";return`Decode attention of one layer with ${O(a)} keys. Each run takes the next layer's cache: ${p.map(r=>`${t[r].layers} of ${T(r)}`).join(", ")} fill the ${x(o,"B")} in which the rate was measured.${s}`}var g0={near:()=>"That's within 10% of the prediction.",faster:({bytes:a,limit:e,reading_seconds:t})=>`That's faster than predicted, so the rate of ${e} came out too low${e==="reading"?` (the same ${x(a,"B")} alone are read in ${k(t)})`:""}. Measure again.`,starting:({starting_seconds:a})=>`Most of the gap is starting: with one key, the same code takes ${k(a)}.`,reading:({bytes:a,reading_seconds:e},t)=>`Most of the gap is reading: its ${x(a,"B")} alone take ${k(e)}, at ${W(a/e/t.bytes_per_second)} of the bandwidth.`,working:({bytes:a,flops:e,seconds:t,limit:o,reading_seconds:s},r)=>o==="reading"?`Its ${x(a,"B")} alone are read in ${k(s)}. Most of the gap is the kernel's own work: dot products, exponentials, running sums.`:`Its multiply-adds run at ${x(e/t,"FLOP/s")}, ${W(e/t/r.flops_per_second)} of the rate that was measured.`};function ut(a,e){let t=a.cases[e],o=a.checks[e];if(o&&!(o.largest_difference!==null&&o.largest_difference<=a.tolerance))return`The kernel's numbers aren't NumPy's here (${o.largest_difference===null?"some aren't numbers":`off by ${ee(o.largest_difference)}`}), so no time was taken.`;if(!t.seconds)return"";let s=De(t),r=s.over>0&&s.kind!=="near"?`${z(t.seconds/t.predicted_seconds)} times the prediction. `:"",i=re([...se(a,e),["reading alone",t.limit==="reading"?t.reading_spread:0]]);return r+(i[1]>ae?`${b0(ht(i))}, which is too much to say why.`:g0[s.kind](t,E(a)))}function dt({predicted_seconds:a,seconds:e,limit:t}){return`predicted ${k(a)} (${t})${e?`, measured ${k(e)}`:""}`}var ee=a=>a===0?"0":a.toExponential(1).replace("e-"," · 10⁻").replace(/⁻(\d+)$/,(e,t)=>`⁻${[...t].map(o=>"⁰¹²³⁴⁵⁶⁷⁸⁹"[o]).join("")}`);function ft({checks:a,tolerance:e}){let t=p.filter(r=>a[r]);if(!t.length)return"";let o=t.map(r=>a[r].largest_difference);if(o.includes(null)||Math.max(...o)>e)return`Checked against NumPy: wrong numbers (more than ${ee(e)} off).`;let s=t.reduce((r,i)=>r+a[i].compared,0);return`Checked against NumPy: ${Le(s,"output")}, largest difference ${ee(Math.max(...o))} (allowed: ${ee(C)}).`}function pt(a){let e=a?.places.findLast(({cases:r})=>p.every(i=>r[i]?.seconds));if(!e){let[r,...i]=p.map(n=>[z(S(n)),f[n].title.replace(/(\w+), (\w+)/,"$2 $1")]);return`In float32, decode attention does ${r[0]} FLOPs per byte with ${r[1]}, ${i.map(([n,l])=>`${n} with ${l}`).join(" and ")}. Which times do you expect in this tab?`}let{mha:t}=e.cases,o=r=>`${T(r)} reads ${z(t.bytes/e.cases[r].bytes)} times less than MHA and takes ${x0(t.seconds/e.cases[r].seconds)}`;return`${e.kind==="cpu"?"On this processor":e.adapter.software?"On this software adapter":"On this GPU"}, with ${O(e.keys)} keys, ${o("gqa")}; ${o("mla")}.${y0(e)}`}var x0=a=>a>=1?`${z(a)} times less time`:`${z(1/a)} times as long`,ht=([a,e])=>`the middle repeat of ${a} took ${W(e)} longer than the fastest`,b0=a=>a[0].toUpperCase()+a.slice(1);function y0(a){let e=re(p.flatMap(t=>se(a,t)));return e[1]>ae?` But ${ht(e)} (other programs, battery, heat), so take all of this as rough.`:""}function mt(){let a=p.map(e=>{let{title:t,model:o,n_heads:s,n_kv_heads:r,key_dim:i,value_dim:n,latent:l}=f[e];return[t,String(s),l?`1 latent of ${n} + ${i-n}`:`${r} keys and values of ${i}`,o]});return{head:["","query heads","stored for each token","as one layer of"],rows:a}}var v0=[["bytes","bytes",a=>x(a,"B")],["FLOPs","flops",a=>x(a,"FLOP")],["layers in turn","layers",O],["predicted","predicted_seconds",k],["measured","seconds",k],["middle repeat above the fastest","spread",W],["reading alone","reading_seconds",k],["with one key","starting_seconds",k]];function $t(a){let e=(o,s,r)=>o?.[s]===void 0?"–":r(o[s]),t=v0.map(([o,s,r])=>[o,...p.map(i=>e(a.cases[i],s,n=>r(n)))]);return{head:[a.kind==="cpu"?"processor":"GPU",...p.map(T)],rows:t}}function gt(a){return a.places.flatMap(e=>Object.entries(e.rates).map(([t,{bytes:o,flops:s,seconds:r,spread:i}])=>[`${e.kind==="cpu"?"processor":"GPU"}, ${t}`,o?x(o/r,"B/s"):x(s/r,"FLOP/s"),W(i)]))}var xt="your_machine",w0=["h100","h200","stored"],te=Object.fromEntries(U.map(({key:a})=>[a,{type:"bool",default:w0.includes(a)}])),_0=960,bt=(a,e,t="")=>`<button type="button" data-do="${a}"${t}>${e}</button>`,k0=()=>U.map(({key:a,name:e})=>`<label><input type="checkbox" data-beside="${a}"> ${g(e)}</label>`).join(""),S0=a=>a.map(([e,...t])=>`<tr><th scope="row">${g(e)}</th>${t.map(o=>`<td>${g(o)}</td>`).join("")}</tr>`).join(""),yt=(a,e)=>`<table><thead><tr>${a.map(t=>`<th scope="col">${g(t)}</th>`).join("")}</tr></thead><tbody>${S0(e)}</tbody></table>`,vt=({head:a,rows:e})=>yt(a,e),wt=(a,e)=>`<div class="ym-wide" tabindex="0" role="region" aria-label="${a}">${e}</div>`;function E0(){return[["Decode attention on the GPU, a span of keys",`${p.map(t=>`// ${f[t].title}: ${Object.entries(de(f[t])).map(([o,s])=>`${o} ${s}`).join(", ")}`).join(`
`)}

${j.attend}`],["Decode attention on the GPU, merging the spans",j.merge],["Matrix product on the GPU",j.matmul],["Drawing, reading and copying on the GPU",j.memory],["Everything on the processor (WebAssembly)",K]].map(([t,o])=>`<details class="ym-kernel"><summary>${t}</summary>${wt(t,`<pre>${g(o.trim())}</pre>`)}</details>`).join("")}var A0=`<div class="ym-controls">${bt("measure","Measure")}${bt("save","Save"," hidden")}<fieldset><legend>Compare with</legend>${k0()}</fieldset></div>
  <p class="living-say" role="status"></p><p class="living-note" hidden></p><div class="ym-picture"></div>
  <p class="ym-key">Hollow: predicted. Filled: measured. The marks are MHA (square), GQA (triangle) and MLA (disc).</p><div class="ym-sizes">${vt(mt())}</div><div class="ym-places"></div>
  <details class="ym-numbers" hidden><summary>All numbers</summary><div></div></details>
  <details class="ym-kernels"><summary>The kernels</summary>${E0()}</details>`,Ee=class{constructor(e){Object.assign(this,{root:e,result:null,running:null}),e.classList.add("living","ym-on"),e.innerHTML=A0,this.take(location.hash),e.addEventListener("click",({target:t})=>this.press(t.closest("[data-do]")?.dataset.do)),e.addEventListener("change",({target:t})=>t.dataset.beside&&this.choose(t)),document.addEventListener("visibilitychange",()=>document.hidden&&this.running?.stop("hidden")),addEventListener("hashchange",()=>this.take(location.hash)),new ResizeObserver(()=>this.draw()).observe(e)}part(e){return this.root.querySelector(e)}take(e){let{state:t,error:o}=Ae(te,Te(xt,te,e)??{});this.complain(o?`The link asks for something that does not exist: ${o}.`:""),(!o||!this.beside)&&(this.beside=o?A(te):t);for(let s of this.root.querySelectorAll("[data-beside]"))s.checked=this.beside[s.dataset.beside];this.draw()}choose({dataset:e,checked:t}){this.beside={...this.beside,[e.beside]:t},history.replaceState(history.state,"",Oe(xt,te,this.beside)),this.draw()}press(e){e==="measure"&&(this.running?this.running.stop("button"):this.measure()),e==="save"&&this.save()}complain(e){Object.assign(this.part(".living-note"),{textContent:e,hidden:!e})}async measure(){this.complain(""),this.result=null;let{book:e,half:t}=this.root.dataset;this.running=new Q({book:e,half:t&&Number(t),show:(o,s)=>this.follow(o,s)}),document.hidden&&this.running.stop("hidden"),this.part("[data-do=save]").hidden=!0,this.part("[data-do=measure]").textContent="Stop",this.draw(),this.say(Se.start);try{this.result=await this.running.run(),this.complain(Object.entries(this.result.missing).map(([o,s])=>o==="cpu"?it(s):rt(s)).join(" "))}catch(o){this.complain(o instanceof q?st[o.message]:`The measurement failed (${o.message}). Nothing was kept.`)}this.running=null,this.part("[data-do=measure]").textContent=this.result?"Measure again":"Measure",this.part("[data-do=save]").hidden=!this.result?.places.length,this.draw()}follow(e,t){this.running?.stopped||(this.draw(e),this.say(Se[t]))}say(e){this.part(".living-say").textContent!==e&&(this.part(".living-say").textContent=e)}draw(e=this.result){let t=Math.min(_0,Math.floor(this.part(".ym-picture").clientWidth))||600,o=pt(e);this.part(".ym-picture").innerHTML=tt(e,this.beside,{width:t,label:o}),this.part(".ym-places").innerHTML=(e?.places??[]).map(s=>this.placeWords(s,t)).join(""),this.running||this.say(o),this.part(".ym-numbers").hidden=!e?.places.length,e?.places.length&&(this.part(".ym-numbers > div").innerHTML=wt("All numbers",yt(["rate","","middle repeat above the fastest"],gt(e))+e.places.map(s=>vt($t(s))).join("")))}placeWords(e,t){let o=ot(e),s=p.filter(i=>e.cases[i]).map(i=>`<li><b>${g(f[i].title)}</b> ${g(dt(e.cases[i]))}${at(e.cases[i],o,e.kind,t)}<span>${g(ut(e,i))}</span></li>`),r=[lt(e),ct(e)].filter(Boolean).join(" ");return`<section><h3>${g(nt(e))}</h3><p>${g(r)}</p><ul>${s.join("")}</ul><p class="ym-check">${g(ft(e))}</p></section>`}save(){let e=document.createElement("a");e.href=URL.createObjectURL(new Blob([`${JSON.stringify(this.result,null,1)}
`],{type:"application/json"})),e.download=`your-machine-${this.result.date.slice(0,10)}.json`,e.click(),setTimeout(()=>URL.revokeObjectURL(e.href),1e3)}};for(let a of document.querySelectorAll(".your-machine:not(.ym-on)"))new Ee(a);})();
