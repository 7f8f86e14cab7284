"""Function words by snowball language: dropped from the index, and the profile a language is recognised by.

Deliberately short: words that carry no subject in any document. Written folded (lower case, no vowel points).
"""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The words of a list written as running text."""
    return frozenset(text.split())


STOP_WORDS: dict[str, frozenset[str]] = {
    "english": word_set(
        "a about after all also am an and any are aren't as at be been before being but by can can't cannot "
        "could couldn't did didn't do does doesn't doing don't down each eg etc for from further had hadn't "
        "has hasn't have haven't having he he's her here hers herself him himself his how i i'm i've if ie "
        "in into is isn't it it's its itself just me more most my myself no nor not of off on once only or "
        "other our ours out over own same shall she should shouldn't so some such than that that's the their "
        "theirs them themselves then there there's these they they're this those through to too under until "
        "up upon very was wasn't we were weren't what what's when where which while who whom whose why will "
        "with won't would wouldn't you your yours yourself"
    ),
    "german": word_set(
        "aber als also am an andere auch auf aus bei beim bin bis bist da damit dann das dass dein dem den "
        "denn der des dessen deren die dies diese diesem diesen dieser dieses doch dort du durch ein eine "
        "einem einen einer eines er es etwas euch für gegen gibt hat hatte hatten habe haben hier hinter ich "
        "ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jene kann "
        "können kein keine keinem keinen keiner könnte man mehr mein mich mir mit muss nach nicht noch nun "
        "nur ob oder ohne sehr sein seine seinem seinen seiner sein seit sich sie sind so solche soll sollte "
        "sondern sonst über um und uns unser unter viel vom von vor wann war waren warum was weil welche "
        "welchem welchen welcher welches wenn wer wem wen werde werden wessen wie wieder will wir wird wo "
        "worden wurde wurden während zu zum zur zwar zwischen fur uber"
    ),
    "french": word_set(
        "à au aux avec ce ceci cela ces cet cette ceux chez ci comme comment d dans de des donc dont du elle "
        "elles en entre est et eu été être eux fait il ils je l la le les leur leurs lui ma mais me même mes "
        "moi mon ne ni nos notre nous on ont ou où par pas pour pourquoi plus qu quand que quel quelle "
        "quelles quels qui s sa sans se ses si son sont sous sur ta te tes toi ton tous tout toute toutes tu "
        "un une vos votre vous y était étaient sera seront avait avaient ainsi aussi"
    ),
    "spanish": word_set(
        "a al algo ante antes como con contra cual cuáles cuál cuando cuándo cuánto de del desde donde dónde "
        "durante e el él ella ellas ellos en entre era eran es esa ese eso esta está están este esto estos "
        "estas fue fueron ha había han hasta hay la las le les lo los más me mi mis muy nada ni no nos "
        "nosotros nuestra nuestro o os otra otro para pero poco por porque qué que quien quién se sea según "
        "ser si sí sin sobre son su sus también tanto te tiene todo todos tu tus un una uno unos y ya yo"
    ),
    "portuguese": word_set(
        "a à ao aos aquela aquele as às até com como da das de dela dele depois do dos e é ela elas ele eles "
        "em entre era eram essa esse esta está estão este eu foi foram há isso isto já lhe mais mas me mesmo "
        "meu minha muito na não nas nem no nos nós nossa nosso o onde os ou para pela pelas pelo pelos por "
        "porque qual quais quando que quem se sem ser seu seus só sua suas são também te tem têm um uma você"
    ),
    "italian": word_set(
        "a ad agli ai al alla alle allo anche c che chi ci come con così cosa cui da dagli dai dal dalla "
        "dalle dei del della delle dello degli di dove e è ed era erano essere fra gli ha hanno i il in io "
        "la le lei li lo loro lui ma mi mia mio ne nei nel nella nelle nello noi non o per perché più quale "
        "quali quando quanto quella quello questa questo se sei si sia sono sta su sua sue sugli sui sul "
        "sulla sulle suo suoi tra tu un una uno voi"
    ),
    "dutch": word_set(
        "aan af al als alle andere ben bij dan dat de der deze die dit doch doen door dus een en er ge geen "
        "had haar heb hebben heeft hem het hier hij hoe hun ik in is ja je kan kunnen kon maar me meer men "
        "met mij mijn moet na naar niet niets nog nu of om omdat ons ook op over reeds te tegen toch toen "
        "tot u uit uw van veel voor want waren was wat we welke werd wezen wie wij wil worden wordt waarom "
        "wanneer waar zal ze zei zelf zich zij zijn zo zonder zou"
    ),
    "danish": word_set(
        "af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du "
        "efter eller en end er et for fra få ham han hans har havde have hende hendes her hos hun hvad hvem "
        "hver hvilken hvis hvor hvordan hvorfor i ikke ind jeg jer kan kunne man mange med meget men mig min "
        "mod ned noget nogle nu når og også om op os over på selv sig sin skal skulle som sådan til ud under "
        "var vi vil ville vor være været"
    ),
    "norwegian": word_set(
        "alle at av bare begge ble blei bli blir da de deg dem den denne der deres det dette di din disse du "
        "eller en er et etter for fordi fra før ha hadde han hans har hennes her hun hva hvem hvilken hvis "
        "hvor hvordan hvorfor i ikke ikkje inn ja jeg kan kunne man mange med meg mellom men mer min mot mye "
        "ned noe noen nå når og også om opp oss over på seg selv sin skal skulle som så til ut var ved vi "
        "vil ville vår være vært"
    ),
    "swedish": word_set(
        "alla allt att av blev bli blir de dem den denna deras dess det detta dig din du där då efter ej "
        "eller en er ett finns från för ha hade han hans har hon hur här i icke ingen inom inte jag kan "
        "kunde man med mellan men mig min mot mycket ni nu något några när och också om oss på samma sedan "
        "sig sin sitt skulle som så sådan till under upp ut utan vad var varför vara varit vem vi vid vilken "
        "vilka är än över"
    ),
    "finnish": word_set(
        "ei eivät eli en ennen että he heidän hän hänen ihan itse ja jo joka jolla jonka jos jossa jota "
        "joten jotka kaikki kanssa kuin kuinka kuka kun kuten mikä miksi milloin minä missä mitä mukaan "
        "mutta myös ne niiden niin niitä noin nyt oli olivat olla ole on ovat se sekä sen siellä siitä sinä "
        "sitä tai tämä tämän te vain vaikka voi voidaan vuoksi"
    ),
    "hungarian": word_set(
        "a az és egy hogy nem is ez de ha csak már meg mert vagy volt mint el azt aki ami amely be ki le fel "
        "kell van vannak még sem ezt minden majd így úgy itt ott szerint után között alatt miatt által lehet "
        "nagyon hol mikor miért milyen hány mi ő ők ennek annak azok ezek"
    ),
    "turkish": word_set(
        "acaba ama ancak bana bazı belki ben beri bir biz bu bunlar bunu bunun çok çünkü da daha de defa "
        "diye eğer en gibi hem hep her hiç için ile ise kadar ki kim mı mi mu mü nasıl ne neden nerede niye "
        "o olan olarak oldu olduğu olur on onun sonra siz şey şu tüm üzere var ve veya ya yani yok"
    ),
    "romanian": word_set(
        "a acea aceasta această acest aceste acestei acestui ai al ale am ar are aș asupra au avea că când "
        "care ce cel cele cei cine cu cum da dar de decât din după ea ei el ele este eu fi fie fost iar în "
        "înainte între îi îl la le lor lui mai mult ne nici nu o or pe pentru prin sa să sale sau se și sunt "
        "tot un una unde unei unor unui va vor"
    ),
    "catalan": word_set(
        "a al als amb aquest aquesta aquests això com d de del dels des deu és el ella els en entre era es "
        "està ha han hi i l la les li lo més molt n no o on per perquè però pel pels quan què que qui s "
        "sense ser seu seva seus si sobre són també té tot un una uns"
    ),
    "basque": word_set(
        "al ala arabera baina bat batean batek beste bere beren da dago dira du dute edo egin egiten ere eta "
        "ez gero gabe haiek hau hori horrek izan izango nola non noiz nor oso zer zen zergatik ziren zuen"
    ),
    "indonesian": word_set(
        "ada adalah agar akan antara apa apakah atau bagaimana bagi bahwa banyak belum berapa bisa boleh "
        "dalam dan dapat dari dengan di dia harus hanya ia ini itu jika juga kami kapan karena ke kepada "
        "kita lebih maka mana mengapa mereka namun oleh pada para saat saja saya sebagai secara sebuah siapa "
        "sudah supaya tanpa telah tentang terhadap tetapi tidak untuk yang"
    ),
    "irish": word_set(
        "a ag agus an ar as atá ba bhí ach cad cé chun conas dá de do don faoi fé gan go i iad in is le leis "
        "mar má na nach ní níl nó nuair ó os sa sé seo sí sin siad tá trí um"
    ),
    "lithuanian": word_set(
        "apie ar arba be bei bet buvo dėl del iki ir iš is ja jau jei jie jis jo jos juos kad kai kaip kas "
        "kiek kodėl kol koks kur kurie kuris kurį man nei nes net nuo o pagal per po prie prieš su tačiau "
        "tai taip tas tik tuo už visi yra į"
    ),
    "polish": word_set(
        "a ale bez bo by był była było były być co czy dla do gdy gdzie go i ich im ja jak jako jaki jakie "
        "jego jej jest już kiedy kto która które który ma mnie może na nad nie niż o od on ona oni oraz po "
        "pod ponieważ przed przez przy są się sobie ta tak także tam te tego tej ten to tu ty tylko w we "
        "więc wszystko z za ze że żeby"
    ),
    "czech": word_set(
        "a aby ale ani asi až bez bude by byl byla bylo byly být co či do i ho jak jako je jeho jejich její "
        "jen jeho ještě jsem jsou již k kam kde kdo kdy když ke která které který ma má mezi mi na nad ne "
        "nebo než o od on ona oni po pod podle pokud pro proč před při s se si so ta tak také tato te ten "
        "tento to toho tom tu u už v ve více všech z za že"
    ),
    "estonian": word_set(
        "aga ei ega ehk et ja järgi ka kas keda kelle kes kui kuid kuidas kus kuna läbi ma me mida millal "
        "mille mis miks mitte neid nende nii ning nad oli olid olla oma on see seda selle siis sind ta tema "
        "ta või välja üle"
    ),
    "russian": word_set(
        "а без более бы был была были было быть в вам вас ведь во вот все всего всех вы где да даже для до "
        "его ее если есть еще же за здесь и из или им их к как какая какие какой кем ко когда кого которая "
        "которые который кто ли между меня мне может мы на над надо нас не него нее нет ни них но о об "
        "однако он она они оно от очень по под после почему при про с свою себя со так также там тем то того "
        "тоже только том ты у уже чего чем что чтобы эта эти это этого этом этот я"
    ),
    "serbian": word_set(
        "а али ако без би био била било ће да до док за зашто и из или им их ја је јер јесте још ка како "
        "када кад ко који која које који кроз ли међу мене ми на над не него није ништа но о од око он она "
        "они оно по под после пре при са се сам само си смо су та тај тако те ти то тог треба у уз уколико "
        "што шта"
    ),
    "greek": word_set(
        "ο η το οι τα του της των τον την τις τους και κι να θα δεν δε μη μην με σε από απο για ως προς κατά "
        "μετά παρά αντί χωρίς που πως πώς ποιος ποια ποιο πότε γιατί τι αν ή είτε αλλά όμως είναι ήταν έχει "
        "έχουν στο στη στην στον στα στις στους αυτό αυτή αυτός αυτά ένα ένας μια μία όπως όταν ότι"
    ),
    "arabic": word_set(
        "في من على الى عن مع هذا هذه ذلك تلك التي الذي الذین ان انها انه او ثم قد لقد کان کانت یکون لا لم لن "
        "ما ماذا متی این کیف لماذا هل هو هی هم نحن انا انت کل بعض غیر بین بعد قبل عند حتی اذا اذ لکن فی علی "
        "هناک حیث منذ ضد خلال کما ایضا بها به له لها فیها فیه منه منها علیه و کم من"
    ),
    "persian": word_set(
        "از با به بر برای در و که را این ان است بود شد شده می نمی ها های یک تا یا هم نیز اگر ولی اما چه چرا "
        "چگونه کی کجا ما من تو او شما انها بین پس پیش هر همه هیچ خود دارد دارند داشت کرد کرده کند کنند باشد "
        "باید نیست است بودند شود میشود چند روی زیر"
    ),
    "hindi": word_set(
        "का की के को में से पर और है हैं था थी थे यह वह ये वे एक ने भी तो ही कि जो इस उस इन उन तक या नहीं न "
        "कर करने किया करता करते होता होती होते हो गया गई गए लिए साथ द्वारा जब तब क्या क्यों कैसे कब कहाँ कौन "
        "कितना कितने अपने अपनी अपना बहुत कुछ सभी हुआ हुई हुए रहा रहे रही जाता जाती जाते दिया"
    ),
    "nepali": word_set(
        "छ छन् थियो थिए हो हुन् र को का की मा ले लाई बाट देखि सम्म पनि यो त्यो यस त्यस एक गर्न गरे गरेको "
        "भएको हुने छैन के किन कसरी कहिले कहाँ जो तर वा संग गर्ने नै भने तथा लागि"
    ),
    "armenian": word_set(
        "այդ այլ այն այս դու դուք եմ են ենք ես եք է էի էին էինք էիր էր ըստ թե ի ին իսկ իր կամ համար հետ հետո "
        "մենք մեջ մի ն նա նաև նրա նրանք որ որը որոնք որպես ու ում պիտի վրա և"
    ),
    "tamil": word_set(
        "ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான் உள்ள அந்த இவர் என முதல் "
        "என்ன இருந்து சில என் போன்ற வேண்டும் வந்து இதன் அது அவன் பின்னர் யார் எப்படி ஏன் எங்கே எப்போது இல்லை"
    ),
    "yiddish": word_set(
        "דער די דאס און אין איז פון צו מיט אויף ניט נישט האט האבן איך ער זי מיר איר זיי וואס ווער וואו ווען "
        "פארוואס ווי אז אבער אויך פאר נאר אן א אן עס זיך"
    ),
}
"""Language name → its function words, folded as :func:`tq.text.tokens.terms` folds a word."""
