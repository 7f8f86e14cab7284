"""Pairs of statements that answer one question: those that contradict each other, and those that only look like it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    question: str
    first: str
    second: str
    language: str = "english"


CONTRADICTING = [
    Pair(
        "How long is the warranty on the drill?",
        "The drill has a warranty of 24 months.",
        "The warranty on the drill ends after 12 months.",
    ),
    Pair(
        "When does the library close on Fridays?",
        "On Fridays the library closes at 18:00.",
        "The library closes at 8 pm on Fridays.",
    ),
    Pair(
        "What is the highest dose of paracetamol per day?",
        "The highest dose is 4 g of paracetamol per day.",
        "Adults take at most 3000 mg of paracetamol per day.",
    ),
    Pair(
        "Are dogs allowed in the guest rooms?",
        "Dogs are allowed in the guest rooms.",
        "Dogs are not allowed in the guest rooms.",
    ),
    Pair(
        "What does a parking permit cost?",
        "A parking permit costs 40 euros a year.",
        "The parking permit costs EUR 55 a year.",
    ),
    Pair(
        "By when must the tax form be returned?",
        "The tax form must be returned by 31 March.",
        "The tax form must be returned by 15 April.",
    ),
    Pair(
        "How many people may use the lift?",
        "The lift carries at most 8 people.",
        "No more than six people may use the lift at once.",
    ),
    Pair(
        "How often is the air filter changed?",
        "The air filter is changed every 6 months.",
        "The air filter is changed every 3 months.",
    ),
    Pair(
        "Is a deposit required for the hall?",
        "A deposit is required for the hall.",
        "No deposit is required for the hall.",
    ),
    Pair(
        "What is the interest rate of the loan?",
        "The interest rate of the loan is 4.5 %.",
        "The loan carries an interest rate of 5.4 percent.",
    ),
    Pair(
        "How long are invoices kept?",
        "Invoices are kept for ten years.",
        "Invoices are kept for seven years.",
    ),
    Pair(
        "What is the speed limit on the site?",
        "The speed limit on the site is 20 km/h.",
        "On the site the speed limit is 30 km/h.",
    ),
    Pair(
        "When was the bridge opened?",
        "The bridge was opened on 4 May 1931.",
        "The bridge was opened on 14 May 1931.",
    ),
    Pair(
        "Is the museum open on Mondays?", "The museum is open on Mondays.", "The museum is closed on Mondays."
    ),
    Pair(
        "How much notice does a tenant give?",
        "A tenant gives three months' notice.",
        "A tenant gives six weeks' notice.",
    ),
    Pair(
        "At what temperature is the vaccine stored?",
        "The vaccine is stored at 2 to 8 °C.",
        "The vaccine is stored at -20 °C.",
    ),
    Pair(
        "Is smoking permitted on the terrace?",
        "Smoking is permitted on the terrace.",
        "Smoking is prohibited on the terrace.",
    ),
    Pair(
        "How many days of leave do employees have?",
        "Employees have 28 days of leave a year.",
        "Employees have 25 days of leave a year.",
    ),
    Pair(
        "What is the minimum age for the diving course?",
        "The minimum age for the diving course is 16.",
        "Participants of the diving course must be at least 18 years old.",
    ),
    Pair(
        "Wie hoch ist die Gebühr für eine Mahnung?",
        "Die Gebühr für eine Mahnung beträgt 5 Euro.",
        "Für eine Mahnung wird eine Gebühr von 7,50 Euro erhoben.",
        "german",
    ),
    Pair(
        "Ist der Zutritt zum Labor ohne Ausweis erlaubt?",
        "Der Zutritt zum Labor ist ohne Ausweis erlaubt.",
        "Der Zutritt zum Labor ist ohne Ausweis nicht erlaubt.",
        "german",
    ),
    Pair(
        "Quel est le délai de résiliation du contrat ?",
        "Le délai de résiliation du contrat est de 30 jours.",
        "Le délai de résiliation du contrat est de 60 jours.",
        "french",
    ),
    Pair(
        "¿Cuánto cuesta la entrada al parque?",
        "La entrada al parque cuesta 12 euros.",
        "La entrada al parque cuesta 15 euros.",
        "spanish",
    ),
    Pair("商品的退货期限是多少天？", "商品的退货期限是七天。", "商品的退货期限是14天。", "none"),
    Pair(
        "How long does a password stay valid?",
        "A password expires after 90 days.",
        "A password stays valid for one year.",
    ),
    Pair(
        "Do visitors have to sign the book?",
        "Visitors have to sign the book.",
        "Visitors do not have to sign the book.",
    ),
    Pair(
        "How many copies of the contract are signed?",
        "Two copies of the contract are signed.",
        "The contract is signed in three copies.",
    ),
    Pair(
        "Does the insurance cover flood damage?",
        "The insurance covers flood damage.",
        "The insurance does not cover flood damage.",
    ),
    Pair(
        "What is the capacity of the water tank?",
        "The capacity of the water tank is 500 litres.",
        "The water tank has a capacity of 450 l.",
    ),
    Pair(
        "What was the revenue in 2023?",
        "The revenue in 2023 was $4.2 million.",
        "In 2023 the revenue was $4.6 million.",
    ),
]

NEAR = [
    # another year, month or day
    Pair(
        "What was the revenue?",
        "The revenue in 2022 was $3.9 million.",
        "The revenue in 2023 was $4.2 million.",
    ),
    Pair(
        "What does a season ticket cost?",
        "In 2023 a season ticket cost 120 euros.",
        "In 2024 a season ticket costs 135 euros.",
    ),
    Pair(
        "How many visitors did the fair have?",
        "The fair had 12,000 visitors in 2019.",
        "The fair had 9,500 visitors in 2021.",
    ),
    Pair(
        "When does the term begin?",
        "The autumn term begins on 2 September.",
        "The spring term begins on 13 January.",
    ),
    Pair("How much rain fell?", "In May 84 mm of rain fell.", "In June 31 mm of rain fell."),
    Pair(
        "When does the shop open?",
        "On weekdays the shop opens at 9:00.",
        "On Saturdays the shop opens at 10:00.",
    ),
    Pair(
        "What is the budget of the school?",
        "The budget of the school for 2024 is 1.8 million euros.",
        "The budget of the school for 2025 is 2.1 million euros.",
    ),
    # another product, person or place
    Pair(
        "How long is the warranty?",
        "The drill has a warranty of 24 months.",
        "The sander has a warranty of 12 months.",
    ),
    Pair("What does a room cost?", "A single room costs 80 euros.", "A double room costs 110 euros."),
    Pair(
        "What is the notice period?",
        "The notice period of managers is three months.",
        "The notice period of trainees is four weeks.",
    ),
    Pair(
        "What is the dose of the syrup?",
        "Adults take a dose of 20 ml of the syrup.",
        "Children take a dose of 5 ml of the syrup.",
    ),
    Pair(
        "How fast is allowed on this road?",
        "Cars are allowed 100 km/h on this road.",
        "Trucks are allowed 80 km/h on this road.",
    ),
    Pair(
        "What is the fee?",
        "The fee for a missed appointment is 25 EUR.",
        "The fee for a copy of the record is 10 EUR.",
    ),
    Pair("Are dogs allowed?", "Dogs are allowed in the garden.", "Dogs are not allowed in the dining room."),
    Pair("How many seats are there?", "Hall A has 200 seats.", "Hall B has 120 seats."),
    Pair("How many volts does the model need?", "Model X200 needs 12 volts.", "Model X300 needs 24 volts."),
    # another unit of the same quantity
    Pair("How long does the trial run?", "The trial runs for two weeks.", "The trial runs for 14 days."),
    Pair(
        "How much notice is needed to cancel?",
        "Notice of 24 hours is needed to cancel.",
        "One day of notice is needed to cancel.",
    ),
    Pair("How heavy may a parcel be?", "A parcel may weigh up to 5 kg.", "A parcel may weigh up to 5000 g."),
    Pair("How long does the lease run?", "The lease runs for 24 months.", "The lease runs for two years."),
    Pair("How long is the pipe?", "The pipe is 1.5 m long.", "The pipe is 150 cm long."),
    Pair(
        "When is the payment due?", "The payment is due on 3 March 2024.", "The payment is due on 2024-03-03."
    ),
    Pair("How large may a file be?", "A file may have up to 2 GB.", "A file may have up to 2000 MB."),
    # a limit and its exception, or its other end
    Pair(
        "How long may books be borrowed?",
        "Books may be borrowed for four weeks.",
        "Books on reserve may be borrowed for only three days.",
    ),
    Pair(
        "Is parking allowed in the yard?",
        "Parking is not allowed in the yard.",
        "Parking is allowed in the yard only for deliveries.",
    ),
    Pair(
        "Are refunds given?",
        "Refunds are given within 30 days of the purchase.",
        "No refunds are given on items on sale.",
    ),
    Pair(
        "What is the speed limit?",
        "The speed limit is 50 km/h.",
        "Near the school the speed limit is 30 km/h.",
    ),
    Pair(
        "How many guests may a member bring?",
        "A member may bring two guests.",
        "With the manager's consent a member may bring five guests.",
    ),
    Pair(
        "Must forms be signed by hand?",
        "All forms must be signed by hand.",
        "Forms sent online need not be signed by hand.",
    ),
    Pair(
        "How many pieces does an order have?",
        "An order has at least 10 pieces.",
        "An order has at most 500 pieces.",
    ),
]

FURTHER_CONTRADICTING = [
    Pair(
        "How many hours of training does a new driver get?",
        "New drivers get 16 hours of training.",
        "Each new driver completes 20 hours of training.",
    ),
    Pair(
        "When is the annual meeting?",
        "The annual meeting takes place on 12 June.",
        "The annual meeting is held on 19 June.",
    ),
    Pair(
        "What does the museum charge for entry?",
        "Entry to the museum costs 9 euros.",
        "The museum charges 11 euros for entry.",
    ),
    Pair(
        "May employees work from home?", "Employees may work from home.", "Employees may not work from home."
    ),
    Pair("How deep is the pool?", "The pool is 1.8 m deep.", "The pool has a depth of 2.1 metres."),
    Pair(
        "How long does delivery take?", "Delivery takes 3 working days.", "Delivery takes five working days."
    ),
    Pair(
        "What is the VAT rate on books?",
        "The VAT rate on books is 7 %.",
        "Books are taxed at a VAT rate of 19 %.",
    ),
    Pair(
        "How many members does the board have?",
        "The board has seven members.",
        "The board consists of nine members.",
    ),
    Pair(
        "Is the gate locked at night?", "The gate is locked at night.", "The gate is never locked at night."
    ),
    Pair(
        "How long must the dough rest?",
        "The dough must rest for 2 hours.",
        "Let the dough rest for 45 minutes.",
    ),
    Pair(
        "What is the maximum load of the shelf?",
        "The maximum load of the shelf is 40 kg.",
        "The shelf holds up to 25 kg.",
    ),
    Pair(
        "When was the company founded?",
        "The company was founded in 1987.",
        "The company was founded in 1991.",
    ),
    Pair(
        "How much notice is needed to cancel an appointment?",
        "At least 24 hours' notice is needed to cancel an appointment.",
        "Patients who want to cancel an appointment must call at least 48 hours before.",
    ),
    Pair(
        "How often are the smoke detectors tested?",
        "Smoke detectors are tested every year.",
        "The smoke detectors are tested every six months.",
    ),
    Pair(
        "Is a receipt needed for a refund?",
        "A receipt is needed for a refund.",
        "A refund is given without a receipt.",
    ),
    Pair("Wann öffnet das Büro?", "Das Büro öffnet um 8 Uhr.", "Das Büro öffnet um 9 Uhr.", "german"),
    Pair(
        "Wie lange ist die Kündigungsfrist?",
        "Die Kündigungsfrist beträgt drei Monate.",
        "Die Kündigungsfrist beträgt vier Wochen.",
        "german",
    ),
    Pair("Are helmets mandatory?", "Helmets are mandatory.", "Wearing a helmet is optional."),
    Pair("What time is check-out?", "Check-out is at 11 a.m.", "Guests check out by 10:00."),
    Pair(
        "How many pages may the report have?",
        "The report may have at most 20 pages.",
        "The report may have at most 12 pages.",
    ),
    Pair("What does shipping cost?", "Shipping is free of charge.", "Shipping costs 4.90 euros."),
    Pair(
        "How long is the probation period?",
        "The probation period is six months.",
        "The probation period lasts 3 months.",
    ),
    Pair(
        "Who pays for the repair?",
        "The tenant pays for the repair.",
        "The tenant does not pay for the repair.",
    ),
    Pair(
        "What share of the price is due in advance?",
        "20 % of the price is due in advance.",
        "Half of the price is due in advance.",
    ),
    Pair("How high may the hedge be?", "The hedge may be 1.5 m high.", "The hedge may be up to 2 m high."),
    Pair(
        "How many questions does the exam have?",
        "The exam has 40 questions.",
        "There are 50 questions in the exam.",
    ),
    Pair(
        "When does the contract end?",
        "The contract ends on 31 December 2025.",
        "The contract ends on 30 June 2025.",
    ),
    Pair("Is the lift working?", "The lift is working.", "The lift is not working."),
    Pair(
        "Quelle est la durée de la garantie ?",
        "La garantie dure deux ans.",
        "La durée de la garantie est de trois ans.",
        "french",
    ),
    Pair(
        "What is the fine for speeding?",
        "The fine for speeding is 60 dollars.",
        "Speeding is fined with 80 dollars.",
    ),
    Pair(
        "How long are personnel files stored?",
        "Personnel files must be stored for six years after an employee has left.",
        "After an employee leaves, the personnel file is kept for ten years.",
    ),
    Pair(
        "Who may sign orders above 5,000 euros?",
        "Orders above 5,000 euros may be signed by the head of department.",
        "Orders above 5,000 euros may not be signed by the head of department.",
    ),
    Pair(
        "What is the storage temperature of the reagent?",
        "Store the reagent at 4 °C.",
        "The reagent is to be kept at room temperature, 20 °C.",
    ),
    Pair(
        "How many days does the customer have to return goods?",
        "Customers can return goods within 14 days.",
        "Goods can be sent back by the customer within 30 days.",
    ),
    Pair("When is the rent due?", "Rent is due on the 1st of March.", "Rent must be paid by 5 March."),
    Pair(
        "Is the warranty transferable?",
        "The warranty is transferable.",
        "The warranty is not transferable to another owner.",
    ),
    Pair(
        "How many backups are kept?",
        "Backups are kept for 30 days, and 4 copies exist.",
        "Backups are kept for 90 days.",
    ),
    Pair(
        "What bandwidth does the line have?",
        "The line has a bandwidth of 100 Mbit/s.",
        "The line offers 50 Mbit/s.",
    ),
    Pair(
        "What is the deductible?",
        "The deductible is EUR 300 per claim.",
        "For each claim a deductible of 500 euros applies.",
    ),
    Pair(
        "How many volunteers took part in the study?",
        "124 volunteers took part in the study.",
        "The study was carried out with 142 volunteers.",
    ),
    Pair(
        "Are visitors allowed to take photographs?",
        "Visitors are allowed to take photographs.",
        "Taking photographs is prohibited for visitors.",
    ),
    Pair(
        "How long must hands be washed?",
        "Hands must be washed for at least 30 seconds.",
        "Wash your hands for at least 20 seconds.",
    ),
    Pair(
        "What is the reaction time for critical faults?",
        "The reaction time for critical faults is two hours.",
        "Critical faults are handled with a reaction time of 4 h.",
    ),
    Pair(
        "When does the night shift begin?",
        "The night shift begins at 22:00.",
        "The night shift starts at 21:30.",
    ),
    Pair("What is the pass mark?", "The pass mark is 60 %.", "To pass, 50 percent of the points are needed."),
    Pair(
        "Is breakfast included?",
        "Breakfast is included in the price.",
        "Breakfast is not included in the price.",
    ),
    Pair(
        "Wie hoch ist die Selbstbeteiligung?",
        "Die Selbstbeteiligung liegt bei 150 Euro.",
        "Es gilt eine Selbstbeteiligung von 300 Euro.",
        "german",
    ),
    Pair(
        "Wie viele Urlaubstage gibt es?",
        "Es gibt 30 Urlaubstage im Jahr.",
        "Beschäftigte haben 28 Urlaubstage im Jahr.",
        "german",
    ),
    Pair(
        "What did the bridge cost?",
        "The bridge cost 14 million dollars.",
        "Building the bridge cost $17.5 million.",
    ),
    Pair(
        "How many floors does the building have?",
        "The building has 12 floors.",
        "The building has eleven floors.",
    ),
    Pair(
        "What is the fee for a missed appointment?",
        "Fee for a missed appointment: 25 EUR",
        "Missed appointment: 40 EUR",
    ),
    Pair(
        "How long is a library card valid?",
        "Validity of the library card: 12 months",
        "The library card is valid for 2 years from the date of issue.",
    ),
    Pair(
        "How far in advance must a room be booked?",
        "Rooms must be booked at least 2 days in advance.",
        "Book a room no later than one week in advance.",
    ),
    Pair(
        "What is the maximum attachment size?",
        "Attachments may not exceed 10 MB.",
        "Attachments of up to 25 MB are accepted.",
    ),
    Pair(
        "When was the treaty signed?",
        "The treaty was signed in Geneva on 12 August 1949.",
        "On 21 August 1949 the treaty was signed in Geneva.",
    ),
    Pair(
        "How many employees does the firm have?",
        "The firm has 1,200 employees.",
        "With 2,100 employees the firm is the largest in the region.",
    ),
    Pair(
        "Do minors need consent?",
        "Minors need the consent of a parent.",
        "Minors do not need the consent of a parent.",
    ),
    Pair(
        "What is the minimum order value?",
        "The minimum order value is 50 euros.",
        "Orders must have a value of at least 75 euros.",
    ),
    Pair(
        "At what age does school begin?",
        "Children start school at the age of six.",
        "School begins at the age of five.",
    ),
    Pair(
        "How many credits is the module worth?",
        "The module is worth 6 credits.",
        "Students receive 5 credits for the module.",
    ),
    Pair("Is the data encrypted?", "The data is encrypted.", "The data is stored without being encrypted."),
    Pair("How long does the visa last?", "The visa is valid for 90 days.", "The visa lasts six months."),
    Pair(
        "What percentage of staff are women?",
        "46 % of the staff are women.",
        "Women make up 38 percent of the staff.",
    ),
    Pair("When does the offer end?", "The offer ends on Sunday, 5 May.", "The offer is valid until 12 May."),
    Pair(
        "How many litres does the boiler hold?",
        "The boiler holds 80 litres.",
        "The boiler has a volume of 120 litres.",
    ),
]

FURTHER_NEAR = [
    Pair(
        "How many students are enrolled?",
        "In 2020, 412 students were enrolled.",
        "In 2021, 389 students were enrolled.",
    ),
    Pair(
        "What did the roof cost?",
        "The roof of the gym cost 80,000 euros.",
        "The roof of the library cost 65,000 euros.",
    ),
    Pair(
        "What is the price of a ticket?",
        "A ticket for adults is 12 euros.",
        "A ticket for students is 8 euros.",
    ),
    Pair("How long is the delivery?", "Standard delivery takes 5 days.", "Express delivery takes 1 day."),
    Pair("How much milk is needed?", "The pancakes need 300 ml of milk.", "The waffles need 250 ml of milk."),
    Pair(
        "What is the population?",
        "In 1990 the town had 12,400 inhabitants.",
        "In 2010 the town had 15,100 inhabitants.",
    ),
    Pair(
        "When is the office open?",
        "The office is open on Mondays from 9:00.",
        "The office is open on Thursdays from 13:00.",
    ),
    Pair("How hot does it get?", "In July it gets 31 degrees hot.", "In January it gets 4 degrees."),
    Pair("How tall is the tower?", "The north tower is 62 m tall.", "The south tower is 58 m tall."),
    Pair(
        "What is the limit?",
        "The limit for withdrawals is 500 euros a day.",
        "The limit for transfers is 2,000 euros a day.",
    ),
    Pair("How long is the break?", "The break lasts half an hour.", "The break lasts 30 minutes."),
    Pair("How far is the station?", "The station is 2 km away.", "The station is 2000 m away."),
    Pair("What is the interest?", "The interest is 1.25 %.", "The interest is 125 basis points."),
    Pair("How long is the course?", "The course takes 3 years.", "The course takes 36 months."),
    Pair("When does it start?", "The concert starts at 7:30 pm.", "The concert starts at 19:30."),
    Pair("How heavy is the bike?", "The bike weighs 12.5 kg.", "The bike weighs 12,500 g."),
    Pair("How much memory is there?", "The card has 1 TB.", "The card has 1000 GB."),
    Pair("May guests park here?", "Guests may park here.", "Guests may not park here after 22:00."),
    Pair("Is the pool open?", "The pool is open from May to September.", "In winter the pool is closed."),
    Pair(
        "How many days off are there?",
        "Employees have 28 days off.",
        "Employees with children have 33 days off.",
    ),
    Pair(
        "What is the fee for late return?",
        "The fee for late return is 1 euro a day.",
        "Members over 65 pay a fee of 0.50 euros a day for late return.",
    ),
    Pair(
        "Is a helmet required?",
        "A helmet is required on the site.",
        "A helmet is not required in the office.",
    ),
    Pair(
        "How long may a car be parked?",
        "A car may be parked for 2 hours.",
        "Cars of residents may be parked for 24 hours.",
    ),
    Pair("Are pets allowed?", "Pets are not allowed, except guide dogs.", "Guide dogs are allowed."),
    Pair(
        "How many bags may be taken along?",
        "One bag may be taken along in economy class.",
        "Two bags may be taken along in business class.",
    ),
    Pair(
        "What discount is given?",
        "A discount of 10 % is given on orders above 100 euros.",
        "A discount of 15 % is given on orders above 500 euros.",
    ),
    Pair(
        "Wie viel kostet ein Zimmer?",
        "Ein Einzelzimmer kostet 70 Euro.",
        "Ein Doppelzimmer kostet 95 Euro.",
        "german",
    ),
    Pair("每天服用多少毫升？", "成人每天服用20毫升。", "儿童每天服用5毫升。", "none"),
    Pair(
        "Combien coûte l'abonnement ?",
        "L'abonnement mensuel coûte 30 euros.",
        "L'abonnement annuel coûte 300 euros.",
        "french",
    ),
    Pair(
        "How many rooms are there?",
        "There are 12 rooms on the first floor.",
        "There are 8 rooms on the second floor.",
    ),
    Pair(
        "How long are files stored?",
        "Personnel files are stored for six years.",
        "Tax files are stored for ten years.",
    ),
    Pair(
        "What is the response time?",
        "For critical faults the response time is 2 hours.",
        "For minor faults the response time is 8 hours.",
    ),
    Pair(
        "What is the deductible?",
        "The deductible for water damage is 300 euros.",
        "The deductible for storm damage is 500 euros.",
    ),
    Pair(
        "How many people work there?",
        "The plant in Lyon employs 240 people.",
        "The plant in Graz employs 310 people.",
    ),
    Pair(
        "What is the dose for adults?",
        "Adults take two tablets a day.",
        "Adults take no more than two tablets a day.",
    ),
    Pair(
        "How much does the phone cost?",
        "The phone costs 499 euros.",
        "With a contract the phone costs 99 euros.",
    ),
    Pair(
        "May the balcony be used?", "The balcony may be used.", "The balcony may not be used for barbecues."
    ),
    Pair(
        "When is the pool open?",
        "From Monday to Friday the pool is open until 21:00.",
        "At weekends the pool is open until 18:00.",
    ),
    Pair(
        "What was the turnout?",
        "Turnout at the 2017 election was 76.2 %.",
        "Turnout at the 2021 election was 76.6 %.",
    ),
    Pair(
        "How long is the battery life?",
        "The battery lasts 10 hours.",
        "In standby the battery lasts 200 hours.",
    ),
    Pair(
        "How many days of leave are there?",
        "Leave is 30 days a year.",
        "Part-time staff have 15 days of leave a year.",
    ),
    Pair(
        "How much is the shipping?",
        "Shipping within Germany costs 4.90 euros.",
        "Shipping to Austria costs 9.90 euros.",
    ),
    Pair("Is a visa needed?", "Citizens of the EU need no visa.", "Citizens of other countries need a visa."),
    Pair(
        "What is the size of the flat?",
        "The flat has 84 square metres.",
        "The flat has a living room of 28 square metres.",
    ),
    Pair("How long is the film?", "The film is 1 hour and 30 minutes long.", "The film is 90 minutes long."),
    Pair("What is the weight?", "The device weighs 1.2 kg.", "The packed device weighs 1.6 kg."),
    Pair(
        "How often does the committee meet?",
        "The committee meets every three months.",
        "The committee meets quarterly.",
    ),
    Pair("Who needs a ticket?", "Everyone needs a ticket.", "Children under six need no ticket."),
    Pair(
        "Wann ist die Kasse geöffnet?",
        "Die Kasse ist montags bis 18 Uhr geöffnet.",
        "Die Kasse ist freitags bis 16 Uhr geöffnet.",
        "german",
    ),
    Pair(
        "What is the maximum speed of the boat?",
        "The maximum speed of the boat is 30 knots.",
        "The boat travels at 22 knots with a full load.",
    ),
    Pair("What does it cost?", "Haircut: 25 euros", "Beard trim: 12 euros"),
    Pair("What is the fee?", "The fee is 20 euros.", "The fee is waived for members."),
    Pair(
        "How long is the guarantee?",
        "New parts are guaranteed for 24 months.",
        "Used parts are guaranteed for 6 months.",
    ),
    Pair("What is the temperature?", "The reactor runs at 300 °C.", "The cooling water enters at 18 °C."),
    Pair(
        "How many goals were scored?",
        "In the first half 2 goals were scored.",
        "In the second half 1 goal was scored.",
    ),
    Pair("When do lessons start?", "Lessons start at 8:15.", "The first break starts at 9:45."),
    Pair("How long is the lease?", "The lease is for five years.", "The lease may be extended by two years."),
    Pair("What is the salary?", "Grade 5 is paid 3,200 euros.", "Grade 6 is paid 3,500 euros."),
    Pair("How much water is used?", "A shower uses 60 litres of water.", "A bath uses 150 litres of water."),
    Pair(
        "What is the deadline?",
        "The deadline for applications is 15 May.",
        "The deadline for documents is 30 May.",
    ),
    Pair(
        "Is it open on holidays?",
        "The shop is closed on public holidays.",
        "The shop is open on working days.",
    ),
    Pair(
        "How many copies?",
        "Send one copy to the registry and keep one copy.",
        "One copy goes to the registry.",
    ),
    Pair(
        "What is the rate?", "The rate is 3 % for the first year.", "The rate is 4.5 % after the first year."
    ),
    Pair("How high is the rent?", "The rent is 800 euros a month.", "The rent is 9,600 euros a year."),
    Pair("Who may vote?", "Members may vote.", "Guests may not vote."),
]
