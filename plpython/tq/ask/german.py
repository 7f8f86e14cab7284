"""The phrases of tq.ask.words.say in German, by their English text."""

from __future__ import annotations

from typing import Final

PHRASES: Final[dict[str, str]] = {
    # words for places and numbers
    "line {first}": "Zeile {first}",
    "lines {first}–{last}": "Zeilen {first}–{last}",
    "“{text}”": "„{text}“",
    "“{term}” ({n})": "„{term}“ ({n})",
    "{title} ({lines})": "{title} ({lines})",
    "{first}, {second}": "{first}, {second}",
    "{rest} and {last}": "{rest} und {last}",
    "{rest} or {last}": "{rest} oder {last}",
    "{one}, and {two}": "{one}, und {two}",
    "{listed} and {n} more": "{listed} und {n} weitere",
    "and {n} more": "und {n} weitere",
    "{what}: {why}": "{what}: {why}",
    "{name} (version {version})": "{name} (Version {version})",
    "{name}, version {version}": "{name}, Version {version}",
    "{name}, version {version} of {dated}": "{name}, Version {version} vom {dated}",
    "{label}, {lines} (page {page})": "{label}, {lines} (Seite {page})",
    "{n} call": "{n} Aufruf",
    "{n} calls": "{n} Aufrufe",
    "{n} tokens": "{n} Tokens",
    "{n} in money": "{n} in Geld",
    "{n} seconds": "{n} Sekunden",
    "{n} pair": "{n} Paar",
    "{n} pairs": "{n} Paare",
    "{n} piece": "{n} Stück",
    "{n} pieces": "{n} Stücke",
    "{n} number": "{n} Nummer",
    "{n} numbers": "{n} Nummern",
    "{n} possible query": "{n} mögliche Frage",
    "{n} possible queries": "{n} mögliche Fragen",
    "{n} document": "{n} Dokument",
    "{n} documents": "{n} Dokumente",
    "{n} document is": "{n} Dokument ist",
    "{n} documents are": "{n} Dokumente sind",
    "{n} document was": "{n} Dokument wurde",
    "{n} documents were": "{n} Dokumente wurden",
    "{n} section": "{n} Abschnitt",
    "{n} sections": "{n} Abschnitte",
    "{n} chosen section": "{n} ausgewählter Abschnitt",
    "{n} chosen sections": "{n} ausgewählte Abschnitte",
    "{n} further picked section": "{n} weiterer gemerkter Abschnitt",
    "{n} further picked sections": "{n} weitere gemerkte Abschnitte",
    "{n} line": "{n} Zeile",
    "{n} lines": "{n} Zeilen",
    "{n} bullet": "{n} Stichpunkt",
    "{n} bullets": "{n} Stichpunkte",
    "{n} passage": "{n} Stelle",
    "{n} passages": "{n} Stellen",
    "{n} route": "{n} Weg",
    "{n} routes": "{n} Wege",
    "{n} further route": "{n} weiterer Weg",
    "{n} further routes": "{n} weitere Wege",
    "{n} further place": "{n} weitere Stelle",
    "{n} further places": "{n} weitere Stellen",
    "{n} part": "{n} Teil",
    "{n} parts": "{n} Teile",
    "{n} other claim": "{n} andere Aussage",
    "{n} other claims": "{n} andere Aussagen",
    "{n} checked claim": "{n} geprüfte Aussage",
    "{n} checked claims": "{n} geprüfte Aussagen",
    "{n} more answer": "{n} weitere Antwort",
    "{n} more answers": "{n} weitere Antworten",
    "{n} more read": "{n} weiterer Schritt",
    "{n} more reads": "{n} weitere Schritte",
    "{n} rejected reply": "{n} verworfene Antwort des Modells",
    "{n} rejected replies": "{n} verworfene Antworten des Modells",
    "{n} whole tree": "{n} ganzer Baum",
    "{n} whole trees": "{n} ganze Bäume",
    "{n} pick": "{n} gemerkte Stelle",
    "{n} picks": "{n} gemerkte Stellen",
    # the why
    "{place} says: {quote}": "{place} sagt: {quote}",
    "and {places} cited": "und {places}",
    "Against it: {what}": "Dagegen: {what}",
    "and {answers}": "und {answers}",
    "{place}, another version, says otherwise: {quote}": "{place}, eine andere Version, sagt es anders: {quote}",
    "{place}, another version, said otherwise: {quote}": "{place}, eine andere Version, sagte es anders: {quote}",
    # the how
    "Method: {method}.": "Methode: {method}.",
    "lookup": "Nachschlagen",
    "comparison": "Vergleich",
    "calculation": "Berechnung",
    "chain": "Kette",
    "Read {label} from its root ({lines})": "{label} von der Wurzel an gelesen ({lines})",
    "Read {node} of {label} because {because}": "{node} in {label} gelesen, denn {because}",
    "Opened {node} because {because}": "{node} geöffnet, denn {because}",
    ", opened {node} because {because}": ", {node} geöffnet, denn {because}",
    ", then opened {node} because {because}": ", dann {node} geöffnet, denn {because}",
    ", piece {n} of {of}": ", Stück {n} von {of}",
    "; and found the answer in its summary": "; die Antwort stand in der Zusammenfassung",
    "; and took the answer from {places}": "; die Antwort stammt aus: {places}",
    "; and took the answer from its lines": "; die Antwort stammt aus seinen Zeilen",
    " (after {replies})": " (davor: {replies})",
    "Found again: {way}": "Noch einmal gefunden: {way}",
    "Found on {routes}.": "Auch gefunden: {routes}.",
    "The question has {parts}; this answers {part}.": "Die Frage hat {parts}; dies beantwortet {part}.",
    "The question has {parts}; this answer was composed of {claims}.": (
        "Die Frage hat {parts}; diese Antwort ist zusammengesetzt: {claims}."
    ),
    "For {part}: {way}": "Zu {part}: {way}",
    "The claim rests on the summary there, quoted by the lines that the summary came from.": (
        "Die Aussage beruht auf der Zusammenfassung dort; zitiert sind die Zeilen, aus denen sie stammt."
    ),
    "Compared with {others}.": "Verglichen: {others}.",
    "Compared with {others}, which contradicts it.": "Verglichen: {others}, und sie widerspricht.",
    "Compared with {others}, which contradict it.": "Verglichen: {others}, und sie widersprechen.",
    "Compared with {others}, 1 of which contradicts it.": "Verglichen: {others}, 1 davon widerspricht.",
    "Compared with {others}, {n} of which contradict it.": "Verglichen: {others}, {n} davon widersprechen.",
    "the root": "es ist die Wurzel",
    "none of its lines has a word of the question": "keine seiner Zeilen enthält ein Wort der Frage",
    "1 of its lines has {words}": "1 seiner Zeilen enthält {words}",
    "{n} of its lines have {words}": "{n} seiner Zeilen enthalten {words}",
    "chosen from its first bullet": "sein erster Stichpunkt sprach dafür",
    "a bullet of the summary came from its lines: {bullet}": (
        "ein Stichpunkt der Zusammenfassung stammt aus seinen Zeilen: {bullet}"
    ),
    "the summary says more than the first of its lines do: {bullet}": (
        "die Zusammenfassung sagt mehr als ihre ersten Zeilen: {bullet}"
    ),
    "it was picked": "es war gemerkt",
    "it stands beside what was picked": "es steht neben dem, was gemerkt war",
    "it was chosen from the view of the whole tree": "es wurde aus der Ansicht des ganzen Baums ausgewählt",
    "it was chosen from the view of the whole tree, slice {n} of {of}": (
        "es wurde aus der Ansicht des ganzen Baums ausgewählt, Scheibe {n} von {of}"
    ),
    "Sections were chosen from the view of {trees} in {calls}.": (
        "Abschnitte wurden aus der Ansicht ganzer Bäume ausgewählt: {trees}, {calls}."
    ),
    "A single pass was wanted, but the view of {names} does not fit one call: it was read in slices.": (
        "Gewünscht war ein einziger Durchgang, aber die Ansicht von {names} passt nicht in einen Aufruf: sie wurde in "
        "Scheiben gelesen."
    ),
    "{numbers} that stood on no list was thrown away.": "Verworfen, weil auf keiner Liste: {numbers}.",
    "{numbers} that stood on no list were thrown away.": "Verworfen, weil auf keiner Liste: {numbers}.",
    "{part} was searched with what the step before had found: {known}.": (
        "{part} wurde mit dem gesucht, was der Schritt davor gefunden hatte: {known}."
    ),
    # what is missing
    "the question": "die Frage",
    "Nothing picked or beside it answers {what}: the search went on from the root.": (
        "Nichts Gemerktes und nichts daneben beantwortet {what}: gesucht wurde von der Wurzel an weiter."
    ),
    "Nothing picked or beside it answers {what}, and the strategy {strategy} searches no further.": (
        "Nichts Gemerktes und nichts daneben beantwortet {what}, und die Strategie {strategy} sucht nicht weiter."
    ),
    "No answer was found to {parts}.": "Keine Antwort gefunden auf: {parts}.",
    "Left out: {what}.": "Ausgelassen: {what}.",
    "the strategy {strategy} allows {what} a question": "die Strategie {strategy} erlaubt je Frage: {what}",
    "the budget is spent": "das Budget ist verbraucht",
    "{pairs} of claims not compared": "nicht verglichen: {pairs} von Aussagen",
    "{pairs} of claims compared by rules alone": "nur nach Regeln verglichen: {pairs} von Aussagen",
    "{queries} not shown to the planner": "dem Planer nicht gezeigt: {queries}",
    "{queries} not shown at nodes": "an Knoten nicht gezeigt: {queries}",
    "the plan was given up ({why}); the question was searched as it stands": (
        "der Plan wurde aufgegeben ({why}); gesucht wurde die Frage, wie sie dasteht"
    ),
    "prompts showed the first {shown} of the strategy's {of} characters of rules": (
        "die Prompts zeigten die ersten {shown} von {of} Zeichen der Regeln der Strategie"
    ),
    "prompts showed {shown} of {of} shots": "die Prompts zeigten {shown} von {of} Beispielen",
    "prompts showed the first {shown} of the question's {of} characters": (
        "gezeigt wurden die ersten {shown} der {of} Zeichen der Frage"
    ),
    "no answer was composed of the parts found: {why}": "aus den gefundenen Teilen wurde keine Antwort zusammengesetzt: {why}",
    "an answer was dropped: its quote does not stand in the stored lines": (
        "eine Antwort fiel weg: ihr Zitat steht nicht in den gespeicherten Zeilen"
    ),
    "{documents} not searched (the strategy {strategy} searches {bound} a question): {names}": (
        "{documents} nicht durchsucht (die Strategie {strategy} durchsucht {bound} je Frage): {names}"
    ),
    "{documents} not ready and not searched: {names}": "{documents} nicht durchsucht, weil noch nicht bereit: {names}",
    "{documents} not looked at: more than {most} match": "{documents} nicht angesehen: mehr als {most} passen",
    "{documents} outside the scope of the strategy {strategy}": (
        "{documents} außerhalb dessen, was die Strategie {strategy} umfasst"
    ),
    "the question has {terms} different terms; the {rarest} rarest were followed": (
        "die Frage hat {terms} verschiedene Wörter; verfolgt wurden die {rarest} seltensten"
    ),
    "{sections} of {label} not read ({places}): the strategy {strategy} shares out {routes} a document": (
        "in {label} nicht gelesen: {sections} ({places}): die Strategie {strategy} vergibt je Dokument: {routes}"
    ),
    "{sections} of {label} with weaker scent not followed ({places}): the strategy {strategy} shares out {routes} a document": (
        "in {label} nicht verfolgt, weil weniger vielversprechend: {sections} ({places}): die Strategie {strategy} vergibt je "
        "Dokument: {routes}"
    ),
    "{sections} of {label} not opened ({places}): the strategy {strategy} goes no deeper": (
        "in {label} nicht geöffnet: {sections} ({places}): die Strategie {strategy} geht nicht tiefer"
    ),
    "{sections} of {label} not searched ({places}): {why}": "in {label} nicht durchsucht: {sections} ({places}): {why}",
    "slice {n} of {of} of {label} not searched: {why}": "Scheibe {n} von {of} von {label} nicht durchsucht: {why}",
    "{lines} of {label} given up after {replies}: {why}": "{lines} von {label} aufgegeben, {replies}: {why}",
    "{pieces} of {of} of {lines} of {label} not read, those with the fewest terms of the question": (
        "{pieces} von {of} ({lines} von {label}) nicht gelesen, die mit den wenigsten Wörtern der Frage"
    ),
    "{bullets} of {node} of {label} not shown: they do not fit the model's input": (
        "nicht gezeigt: {bullets} von {node} in {label}; sie passen nicht in die Eingabe des Modells"
    ),
    "a summary of {label} seemed to answer, but {lines} that it came from do not": (
        "eine Zusammenfassung in {label} schien zu antworten, {lines}, woraus sie stammt, aber nicht"
    ),
    "{picks} of documents that are gone was not searched": "{picks} in Dokumenten, die es nicht mehr gibt, nicht durchsucht",
    "{picks} of documents that are gone were not searched": "{picks} in Dokumenten, die es nicht mehr gibt, nicht durchsucht",
    "{lines} of {name}, picked in version {version}, stands in version {newer} no more, so that pick was not searched from": (
        "{lines} von {name}, gemerkt in Version {version}, gibt es in Version {newer} nicht mehr; von dort wurde nicht gesucht"
    ),
    "{lines} of {name}, picked in version {version}, stand in version {newer} no more, so that pick was not searched from": (
        "{lines} von {name}, gemerkt in Version {version}, gibt es in Version {newer} nicht mehr; von dort wurde nicht gesucht"
    ),
    "{sections} of {name} not searched from: {most} are, at most": (
        "{sections} von {name} nicht durchsucht: höchstens {most} werden es"
    ),
    # nothing settles it
    "The question names nothing that can be looked up: it has no word that says what it is about.": (
        "Die Frage nennt nichts, was sich nachschlagen lässt: kein Wort sagt, worum es geht."
    ),
    "The material holds nothing on the subject: none of its lines has {words}. The answer takes knowledge from outside of it.": (
        "Das Material enthält nichts dazu: keine Zeile enthält {words}. Die Antwort braucht Wissen von außerhalb."
    ),
    "The question asks for a judgement, and no line that was read gives one.": (
        "Die Frage verlangt ein Urteil, und keine gelesene Zeile gibt eines."
    ),
    "What was read only comes near.": "Was gelesen wurde, kommt der Frage nur nahe.",
    "No line that was read answers, and not everything was read.": (
        "Keine gelesene Zeile antwortet, und nicht alles wurde gelesen."
    ),
    "Everything that bears on the question was read, and no line answers it.": (
        "Alles, was die Frage berührt, wurde gelesen, und keine Zeile beantwortet sie."
    ),
    "None of the lines searched has {words}.": "Keine der durchsuchten Zeilen enthält {words}.",
    "Nearest: {place}: {text}.": "Am nächsten: {place}: {text}.",
    "Nearest: {place}, which has {words}: {text}.": "Am nächsten: {place}, mit {words}: {text}.",
    "Searched {documents} ({names}): {sections} read, {lines} among them.": (
        "Durchsucht: {documents} ({names}); gelesen: {sections}, darunter {lines}."
    ),
    "{sections} read says nothing on it": "{sections} sagt nichts dazu",
    "{sections} read say nothing on it": "{sections} sagen nichts dazu",
    "{passages} only came near": "nur in die Nähe kam: {passages}",
    "No passage read in {documents} states an answer.": "Keine gelesene Stelle gibt eine Antwort; gesucht in: {documents}.",
    "No passage read in {documents} states an answer: {what}.": (
        "Keine gelesene Stelle gibt eine Antwort; gesucht in: {documents}; {what}."
    ),
    "Then {reads} of the same kind.": "Dann {reads} derselben Art.",
    "went on to {sections}": "weiter zu: {sections}",
    "what it says only comes near": "was dort steht, kommt nur nahe",
    "went on to the lines of a summary that seemed to answer": (
        "weiter zu den Zeilen einer Zusammenfassung, die zu antworten schien"
    ),
    "nothing here": "nichts dazu",
    "given up": "aufgegeben",
    # around the answers of tq.answer_text
    "Why": "Warum",
    "How": "Wie",
    "Source": "Quelle",
    "Missing": "Es fehlt",
    "Correction": "Berichtigung",
    "asked of {documents}": "gefragt: {documents}",
    "the whole scope": "der ganze Bestand",
    "{strategy} (version {version})": "{strategy} (Version {version})",
    "{place}, from a summary": "{place}, aus einer Zusammenfassung",
    "settled": "belegt",
    "supported": "belegt durch eine Zusammenfassung",
    "disputed": "strittig",
    "partial": "ein Teil der Antwort",
    "unsettled": "nicht geklärt",
    "failed": "fehlgeschlagen",
    "Nothing found settles the question.": "Nichts Gefundenes klärt die Frage.",
    "The question did not run.": "Die Frage lief nicht.",
    "The sources disagree: another answer contradicts this one.": (
        "Die Quellen sind sich nicht einig: eine andere Antwort widerspricht dieser."
    ),
    "A specialist has to decide this.": "Das muss eine Fachperson entscheiden.",
    "{n} more ranked answer held back": "{n} weitere Antwort zurückgehalten",
    "{n} more ranked answers held back": "{n} weitere Antworten zurückgehalten",
    "by {name}, {day}": "von {name}, {day}",
    "nothing settles it": "nichts klärt es",
    "There are no answers yet.": "Es gibt noch keine Antworten.",
}
