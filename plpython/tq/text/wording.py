"""Words of questions that are not what they are about, by language. Written as running text."""

from __future__ import annotations

from collections.abc import Mapping

from tq.text.stopwords import word_set

Words = Mapping[str, frozenset[str]]

# Words that ask and say nothing about the subject, beyond the stop words.
ASKING: Words = {
    "english": word_set(
        "much many long often kind type sort example mean happen exist please tell explain describe summarize summarise "
        "outline give find say name list discuss think main during between among within upon whether besides else ever "
        "might"
    ),
    "german": word_set("viel viele lange art nennen bedeuten heißen"),
}
# The commonest words of a language that name no subject: a text may well do without one and still answer.
COMMON: Words = {
    "english": word_set(
        "able add affect allow appear ask back bad become begin believe big bring build call case cause certain change "
        "come consider continue create cut day different early end expect fact fall feel find follow get give go good "
        "great group grow hand happen help high hold idea important include involve issue keep know large late lead "
        "learn leave let level like little live look lose make matter mean meet move need new number occur offer old "
        "open part party pay people person place play point possible problem produce program provide put reach read reason "
        "receive refer remain require result right run say see seem send serve set show side small speak spend stand "
        "start state stay stop take talk team tell thing time try turn two understand use want way week win word work "
        "world year young"
    ),
    "german": word_set(
        "alt ander anfangen arbeiten beginnen bekommen bleiben bringen ende fallen finden folgen fragen führen geben "
        "gehen groß grund gut halten heißen helfen jahr klein kommen lassen leben legen leicht leute liegen machen "
        "mensch nehmen neu ort passieren problem rahmen sagen schaffen sehen setzen spielen sprechen statt stehen "
        "stellen tag teil tun verlieren verschieden vor wert wichtig wissen wort zahl zeigen zeit ziehen"
    ),
}
# What is to be worked out from the figures, not what the figures are about.
COMPUTING: Words = {
    "english": word_set(
        "average mean difference change percentage percent ratio total sum respective respectively value values amount "
        "increase decrease number between"
    ),
    "german": word_set("durchschnitt differenz unterschied änderung prozent verhältnis summe anzahl jeweils"),
}
# Words for a document as a whole, and for what it says of itself on its first page.
DOCUMENT: Words = {
    "english": word_set(
        "document contract agreement deed lease licence license policy report paper article study book manual guide "
        "handbook letter memorandum minutes transcript filing amendment statute treaty"
    ),
    "german": word_set(
        "dokument vertrag vereinbarung bericht handbuch buch artikel studie brief richtlinie protokoll"
    ),
}
TITLE: Words = {
    "english": word_set("name title call heading"),
    "german": word_set("name titel heißen überschrift"),
}
IMPRINT: Words = {
    "english": word_set(
        "date author write sign signatory effective become enter make party issue publish version edition"
    ),
    "german": word_set("datum autor verfasser unterzeichnen gültig partei ausgabe fassung version"),
}
LISTS: Mapping[str, Words] = {
    "asking": ASKING,
    "common": COMMON,
    "computing": COMPUTING,
    "document": DOCUMENT,
    "title": TITLE,
    "imprint": IMPRINT,
}
DENSE_ASKING = word_set(
    "什么 多少 哪些 哪个 哪里 何时 为什 怎么 如何 是什 么是 哪一 几个 的是 有什 谁是 了什 么样 是谁"
)
"""Pairs of characters that ask, in scripts without spaces."""
