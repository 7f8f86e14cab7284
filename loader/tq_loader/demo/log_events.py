"""What happened in the year of the log: people, places, notes of a day, events with a date, meetings."""

from __future__ import annotations

from datetime import date
from typing import Final

DESK: Final = (
    "Tom Brandt",
    "Priya Nair",
    "Sam Whitlock",
    "Joan Ferris",
    "Dmitri Volkov",
    "Aisha Rahman",
    "Callum Reid",
    "Beatriz Lopes",
)
DOCTORS: Final = (
    "Dr Helen Marsh",
    "Dr Imran Qureshi",
    "Dr Laura Fenwick",
    "Dr Peter Oyelaran",
    "Dr Sofia Lindqvist",
)
NURSES: Final = ("Grace Adeyemi", "Martin Cole", "Yuki Tanaka", "Orla Brennan", "Fatima Zahra")
ITEMS: Final = (
    "examination gloves, size M",
    "blood collection tubes",
    "couch paper",
    "hand gel",
    "dressing packs",
    "printer toner",
    "appointment cards",
    "sharps containers",
    "urine sample pots",
    "thermometer covers",
    "surgical masks",
    "envelopes with a window",
)
SUPPLIERS: Final = ("Norfield Medical", "Castle Paper", "Brightwell Supplies", "Tamar Laboratories")
TOPICS: Final = (
    "hand washing",
    "reading a refrigerator log",
    "the new portal",
    "talking to angry callers",
    "fire doors",
    "lifting without hurting one's back",
    "data protection at the desk",
    "basic life support",
)
LANGUAGES: Final = (
    "Polish",
    "Arabic",
    "Portuguese",
    "Tamil",
    "Ukrainian",
    "Somali",
    "Mandarin",
    "sign language",
)

# Appointments of a month against the year's mean.
SEASON: Final = (1.06, 1.04, 1.02, 0.99, 0.97, 0.96, 0.93, 0.90, 1.01, 1.07, 1.08, 0.97)

HOLIDAYS: Final = {
    date(2024, 1, 1): "New Year's Day",
    date(2024, 3, 29): "Good Friday",
    date(2024, 4, 1): "Easter Monday",
    date(2024, 5, 6): "early May bank holiday",
    date(2024, 5, 27): "spring bank holiday",
    date(2024, 8, 26): "summer bank holiday",
    date(2024, 12, 25): "Christmas Day",
    date(2024, 12, 26): "Boxing Day",
}

NOTES: Final = (
    "Delivery from {supplier} at {time}: {many} boxes of {item}, checked by {desk}, none missing.",
    "Delivery from {supplier} came {minutes} minutes late, {n} boxes of {item} short; credit note {code} asked for.",
    "Stocks of {item} are low at {site}: {n} left. {desk} has ordered {many} from {supplier}.",
    "The label printer at {site} jammed at {time}; {desk} cleared it after {minutes} minutes.",
    "{doctor} ran {minutes} minutes behind from {time}; {n} patients were told and stayed.",
    "A patient left a walking stick in {room}; labelled {code} and put into the cupboard.",
    "An umbrella, found at {site} in the last week, was collected today against lost-property slip {code}.",
    "{nurse} took {many} blood samples at {site}; the courier left at {time}.",
    "The courier of {supplier} came at {time} instead of the agreed time; {n} samples had to be taken again.",
    "Interpreter for {language} booked for {n} appointments at {site}; invoice £{pounds}.{pence} expected.",
    "The interpreter for {language} did not come to the appointment at {time}; {doctor} used the telephone service.",
    "{desk} and {other} swapped shifts because of a school visit.",
    "Training on {topic}, {minutes} minutes, led by {nurse}; {n} people took part.",
    "The portal sent {hundred} reminders; {n} came back with a wrong number and were corrected by {desk}.",
    "A caller complained about a wait of {minutes} minutes; {desk} called back and it is settled.",
    "A parent thanked {nurse} in writing for patience with a frightened child; letter in folder {code}.",
    "Lamp replaced in {room} at {site}; cost £{pounds}.{pence}.",
    "The blind in {room} at {site} does not close; caretaker told on extension {ext}.",
    "The tap in {room} drips; plumber ordered under job {code}.",
    "Hot water in {room} run for {n} minutes against legionella, written down by {desk}.",
    "Fire door beside {room} at {site} was found wedged open at {time}; {desk} spoke to the team.",
    "Defibrillator at {site} tested by {nurse}: battery at {many} %, pads valid.",
    "Oxygen cylinder in {room} exchanged; the old one showed {many} bar.",
    "The card terminal at {site} was without a line for {minutes} minutes; {n} payments were taken later.",
    "{desk} counted the drawer with {other}: £{pounds}.{pence}, as booked.",
    "Drawer counted by {desk} and {other}: 50 pence too much, noted.",
    "{hundred} letters sent about the blood pressure check; {n} returned as not known at the address.",
    "{many} repeat prescriptions handed out at {site}, {n} not collected.",
    "A prescription for the wrong {n}-week course was noticed by the pharmacy and corrected by {doctor} at {time}.",
    "{doctor} visited {n} patients at home; the last visit ended at {time}.",
    "A student from the college watched {doctor} in {room} with the consent of {n} patients.",
    "{nurse} changed {many} dressings; one wound was referred to the hospital.",
    "The lift at Mill Street stood still for {minutes} minutes from {time}; nobody was inside.",
    "Waiting time at {site} reached {minutes} minutes at {time} and was announced on the screen.",
    "A patient fainted in {room} at {time}; {nurse} stayed for {minutes} minutes, no hospital needed.",
    "An ambulance was called to {site} at {time} and left with the patient {minutes} minutes later.",
    "{many} vaccinations given at {site} by {nurse}; {n} patients kept waiting for fifteen minutes as usual.",
    "Stock of travel vaccines counted: {many} doses at {site}, agrees with the register.",
    "The cleaning firm missed {room}; {desk} wrote to them under {code}.",
    "Window in {room} cleaned, sill painted; room closed until {time}.",
    "Backup of the appointment system took {hundred} minutes instead of the usual two hours; IT is looking into it.",
    "{desk} scanned {hundred} old records; {n} had to be scanned again.",
    "Request for access to a record received, number {code}; identity confirmed by {desk}.",
    "Record request {code} answered after {many} days.",
    "An insurer asked for a report without consent; returned under {code}.",
    "{doctor} signed {many} certificates; £{pounds}.{pence} invoiced.",
    "Telephone line {ext} crackles; provider measured it at {time} and found nothing.",
    "New headset for {desk}; the old one lasted {many} months.",
    "{n} patients came by the side door because of a rash; room 7 was aired for {minutes} minutes.",
    "Children's books in the blue box replaced; {n} new ones given by {desk}.",
    "The screen in the waiting room at {site} showed yesterday's names until {time}.",
    "The heating at {site} was set {n} degrees lower after complaints about warm rooms.",
    "{desk} updated {many} addresses from the returned post.",
    "Sharps container in {room} closed and collected, number {code}.",
    "{supplier} raised the price of {item} by {n} %; {desk} asks for a second offer.",
    "A reporter asked {desk} at {time} about waiting times at {site}; passed to the practice manager.",
    "{nurse} checked the emergency bag at {site}: {n} items replaced, next check in four weeks.",
    "Car park at {site}: {n} cars without a permit, slips put behind the wipers.",
    "A patient brought cake for the desk at {site}; gone by {time}.",
    "Wi-Fi for patients at {site} was off for {minutes} minutes.",
)

EVENTS: Final[dict[date, tuple[str, ...]]] = {
    date(2024, 1, 4): (
        "From today the fee for a missed appointment is £35; the signs at all three doors were changed.",
    ),
    date(2024, 1, 17): (
        "INCIDENT 24-01. The vaccine refrigerator at Mill Street failed during the night.",
        "Its own record shows 8 °C passed at 02:40; it was found at 07:52 at 11.4 °C by Orla Brennan.",
        "212 doses of influenza vaccine were moved to Alder Lane and marked as not to be used.",
    ),
    date(2024, 1, 19): (
        "INCIDENT 24-01, decision: Grace Adeyemi did not release the 212 doses. All were destroyed, value £2,438.",
        "The cause was a seized fan. The refrigerator is nine years old and will not be repaired.",
    ),
    date(2024, 2, 5): (
        "INCIDENT 24-02. The appointment system was down from 09:12 to 11:47. Paper lists were used at all sites.",
        "41 bookings had to be entered afterwards; two patients had been given the same time.",
    ),
    date(2024, 2, 13): (
        "New vaccine refrigerator at Mill Street in use since 10:30; serial number VR-77120, cost £1,890.",
    ),
    date(2024, 2, 28): (
        "INCIDENT 24-03. A burst pipe above room 4 at Harbour View; water on the floor from 06:50.",
        "Rooms 3 and 4 stay closed. No records were wet. The caretaker turned the water off at 07:25.",
    ),
    date(2024, 3, 11): (
        "Rooms 3 and 4 at Harbour View open again after 8 working days; repair paid by the insurance.",
    ),
    date(2024, 3, 20): (
        "INCIDENT 24-04. A letter with the results of one patient was put into the envelope of another.",
        "The receiver brought it back at 16:10. Both patients were told by Ruth Okafor on the same day.",
    ),
    date(2024, 4, 9): (
        "Fire drill at Alder Lane: 63 people out in 3 minutes 50 seconds. The side door stuck and has been planed.",
    ),
    date(2024, 4, 18): (
        "INCIDENT 24-05. The telephones were dead from 13:05 to 14:20 because a digger cut the cable in Alder Lane.",
        "The mobile telephone from the safe was announced on the website; 27 calls came in on it.",
    ),
    date(2024, 5, 2): ("Dr Sofia Lindqvist begins at Mill Street, three days a week.",),
    date(2024, 5, 15): (
        "INCIDENT 24-06. A patient slipped on the wet stairs at Harbour View and broke a wrist.",
        "The yellow sign had not been put out. The cleaning firm was told in writing.",
    ),
    date(2024, 5, 30): ("Priya Nair completed her first year and becomes deputy of the front-desk lead.",),
    date(2024, 6, 12): (
        "INCIDENT 24-07. A man threatened Callum Reid at the desk at Alder Lane at 15:35; the police came at 15:48.",
        "A written warning went out on the next day. Callum Reid was sent home with pay.",
    ),
    date(2024, 6, 25): (
        "Temperature in the waiting room at Mill Street was 31 °C at 14:00; two fans were bought for £118.",
    ),
    date(2024, 7, 3): (
        "INCIDENT 24-08. Refrigerator at Harbour View stood at 8.6 °C for 22 minutes after a delivery.",
        "Below the 30 minutes of the policy; the 64 doses stay in use. Yuki Tanaka has written it down.",
    ),
    date(2024, 7, 16): (
        "The new telephone menu went live at 07:45. It has three choices; the old one had seven.",
    ),
    date(2024, 7, 30): (
        "Inspection by the health authority at Mill Street, announced the day before, lasted 5 hours.",
    ),
    date(2024, 8, 8): (
        "INCIDENT 24-09. The lift at Mill Street stopped with one patient inside at 11:02; freed at 11:41.",
        "The patient was seen at once and did not want to complain.",
    ),
    date(2024, 8, 14): (
        "The report of the inspection came: rated good; two findings, both about labels on cleaning fluids.",
    ),
    date(2024, 8, 21): ("Dmitri Volkov moves to Harbour View for three months to stand in for Joan Ferris.",),
    date(2024, 9, 2): (
        "INCIDENT 24-10. The portal offered appointments on a Sunday because of an update; 16 patients had booked.",
        "All 16 were telephoned before noon and given other times.",
    ),
    date(2024, 9, 17): ("First influenza vaccinations of the season: 140 at Alder Lane, 96 at Mill Street.",),
    date(2024, 9, 26): (
        "INCIDENT 24-11. A prescription for a controlled medicine was handed out without proof of identity.",
        "The patient was the right one. Beatriz Lopes reported it herself; the red book was signed afterwards.",
    ),
    date(2024, 10, 8): (
        "The generator test at Alder Lane failed: it started after 48 seconds instead of 15.",
    ),
    date(2024, 10, 15): (
        "INCIDENT 24-12. Power cut at Alder Lane from 16:22 to 17:09; the generator did not start.",
        "Eleven appointments were moved to the next day. The refrigerators stayed below 6.1 °C.",
    ),
    date(2024, 10, 22): ("Generator repaired, new starter battery, £640; test passed in 11 seconds.",),
    date(2024, 11, 6): ("Record day: 487 influenza vaccinations at Alder Lane between 08:00 and 18:00.",),
    date(2024, 11, 19): (
        "INCIDENT 24-13. An e-mail about the winter rota went to a list of patients instead of the staff.",
        "It held no patient data. 318 people received it; 44 answered, most of them kindly.",
    ),
    date(2024, 12, 3): (
        "Snow: Harbour View opened at 10:20 because the hill was closed; 19 patients were moved.",
    ),
    date(2024, 12, 12): (
        "INCIDENT 24-14. The appointment system was slow from 08:05 to 09:40 after the provider moved its servers.",
        "No booking was lost.",
    ),
    date(2024, 12, 20): ("Aisha Rahman leaves the clinic after six years; 54 people signed the card.",),
    date(2024, 12, 31): ("Last entry of the year. The log of 2025 begins on 2 January.",),
}

MEETINGS: Final[tuple[tuple[str, ...], ...]] = (
    (
        "Present: Ruth Okafor (chair), Dr Helen Marsh, Grace Adeyemi, Tom Brandt. Held on 30 January.",
        "Decided: a refrigerator with an alarm by text message is bought for Mill Street, limit £2,000.",
        "Decided: the doors of all refrigerators get a second reading at 17:00.",
        "Not decided: whether late cancellations are charged like missed appointments. Back in March.",
        "The cost of incident 24-01 is reported to the insurance by Ruth Okafor before 15 February.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Imran Qureshi, Martin Cole, Tom Brandt. Held on 27 February.",
        "Decided: paper lists for a whole day are kept printed at each site and renewed every Friday.",
        "The provider of the appointment system gives a credit of £310 for incident 24-02.",
        "Mill Street asks for a second ground-floor room; the caretaker measures it.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Helen Marsh, Orla Brennan, Priya Nair. Held on 26 March.",
        "Decided: a late cancellation is recorded as missed, but the first one in 12 months stays free of charge.",
        "Decided: letters with results are put into envelopes by one person and checked by a second.",
        "The bill for the burst pipe, £4,275, was paid by the insurance without a deduction.",
    ),
    (
        "Present: Dr Laura Fenwick (chair), Grace Adeyemi, Tom Brandt, Sam Whitlock. Held on 30 April.",
        "Ruth Okafor was on leave; Dr Laura Fenwick stood in and approved two exceptions.",
        "Decided: a second telephone provider is not taken; the mobile telephone is enough.",
        "Decided: fire drills are held at each site once a year, in April, May and June.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Sofia Lindqvist, Yuki Tanaka, Tom Brandt. Held on 28 May.",
        "Decided: the stairs at Harbour View get a rubber edge; offer of £730 accepted.",
        "Patients who live alone are marked in the system, if they agree, so that the desk can call them.",
        "The waiting list for Mill Street stood at 74 people.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Peter Oyelaran, Fatima Zahra, Priya Nair. Held on 25 June.",
        "Decided: an alarm button under each desk, connected to the police, from 1 August.",
        "Decided: nobody works alone at a desk after 17:00.",
        "Fans are a help for two weeks only; an offer for cooling at Mill Street is asked for.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Helen Marsh, Grace Adeyemi, Tom Brandt. Held on 30 July.",
        "The new telephone menu shortened the longest wait by about a third in its first two weeks.",
        "Decided: deliveries of vaccines are unpacked within 10 minutes, and the time is written down.",
        "Cooling for Mill Street would cost £11,400; put off until next year.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Imran Qureshi, Martin Cole, Sam Whitlock. Held on 27 August.",
        "Both findings of the inspection are mended: labels on all cleaning fluids since 19 August.",
        "Decided: the lift at Mill Street is serviced every 3 months instead of every 6.",
        "Joan Ferris is expected back at Harbour View on 2 December.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Laura Fenwick, Orla Brennan, Tom Brandt. Held on 24 September.",
        "Decided: updates of the portal are tried on a copy first; Tom Brandt signs each of them.",
        "Incident 24-11 is used as an example in the training of November, without the name.",
        "1,150 doses of influenza vaccine were ordered, 236 used by the day of the meeting.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Helen Marsh, Yuki Tanaka, Priya Nair. Held on 29 October.",
        "Decided: the generator is tested every month under load, by the caretaker and one nurse.",
        "The fee for a missed appointment stays at £35 in 2025.",
        "A second nurse for vaccinations is paid until 15 December.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Peter Oyelaran, Grace Adeyemi, Tom Brandt. Held on 26 November.",
        "Decided: the lists of staff and of patients are kept in two address books from now on.",
        "The policy for 2025 was read for the first time; the notice for cancelling is to be discussed again.",
        "Tom Brandt says that the handbook of the desk still names other numbers than the policy.",
    ),
    (
        "Present: Ruth Okafor (chair), Dr Helen Marsh, Martin Cole, Tom Brandt, Priya Nair. Held on 17 December.",
        "Decided: the handbook of the front desk is brought in line with the policy before the end of March 2025.",
        "The year closed with 14 incidents, none of which did lasting harm to a patient.",
        "Thanks to Aisha Rahman, who leaves on 20 December.",
    ),
)
