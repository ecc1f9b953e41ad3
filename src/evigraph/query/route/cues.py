"""Words of general English by which a question tells what it asks for. None belongs to any corpus.

Every cue counts once a place, longest first. Names in the question are blanked out before, so that a ship called
*Trend* is no ask for trends.
"""

from __future__ import annotations

import re


def _cue(phrases: str) -> re.Pattern[str]:
    """Any of the phrases as whole words. They are regular expressions parted by ` | `."""
    longest_first = sorted(" ".join(phrases.split()).split(" | "), key=len, reverse=True)
    return re.compile(rf"(?<![\w'’-])(?:{'|'.join(longest_first)})(?![\w’])", re.IGNORECASE)


YEARS = r"(?:1[5-9]|20)\d\d"
YEAR = re.compile(rf"\b{YEARS}\b")
PERIOD = re.compile(rf"\b{YEARS}\s*(?:-|–|to|and|until|through)\s*{YEARS}\b")
"""From one year to another: a span of time, where a single year is a point."""

AGGREGATE = _cue(
    r"""
    (?:most|more|less) (?:common|commonly|often|frequent|frequently|usual) | commonest | commonly | usual | usually |
    typical | typically | in general | generally | general | on the whole | overall | by and large | as a rule |
    recur | recurs | recurring | recurrent | repeated | repeatedly | again and again | time and again |
    over and over(?: again)? | regularly | routinely | frequent | frequently | often | how often | tends? | tendency |
    widespread | pervasive | systemic | systematic | chronic | persistent | perennial | always | never | ever |
    rarely | seldom | mostly | mainly | largely | on average | average | normally | in most cases |
    for the most part | taken? together | all together | keeps? (?:on )?\w+ing | keeps? \w+ing | more often than not |
    predominantly | prevalent | habitually | consistently | invariably | customar(?:y|ily) | nearly always |
    collectively
    """
)
"""Counts, frequencies and superlatives over many cases."""

THEMES = _cue(
    r"""
    themes? | topics? | lessons? | patterns? | trends? | overviews? | big picture | takeaways? | threads? |
    (?:kinds?|sorts?|types?|forms) of | (?:in )?(?:what|which) ways | ways (?:in which|of|to) | factors? | obstacles |
    barriers | challenges | weaknesses | weak (?:points|spots) | root causes | drivers | insights? | tendencies |
    categories | commonalities | priorities | bottlenecks | strengths | shortcomings | best practices? | pitfalls |
    recommendations | mistakes | examples of | measures | remedies | solutions | habits | what matters |
    in a nutshell | (?:one|a single|a|two) pages? (?:on|about|of) | common denominator | dos and don['’]ts |
    rules? of thumb | moral | wisdom | typology | classification | rank | ranking | main (?:issues|points|concerns) |
    cross-cutting | generali[sz]\w+ | what kinds? | what sorts? | in what forms? | what works | what helps |
    what goes wrong | what fails
    """
)
"""An ask for themes rather than facts."""

SCOPE = _cue(
    r"""
    all | every | each | many of | across | everywhere | anywhere | throughout | whole | entire | entirely | corpus |
    archive | collection | dataset | everything | everyone | everybody | anybody | organi[sz]ation(?:-wide)? |
    agency | company-wide | over (?:the|these|all) (?:\w+ )?(?:years|decades?|months) | over time | in the long run |
    long[- ]term | decades? | year (?:after|on|by) year | one year after another | years go by | years went by |
    years | (\w+) by \1 | any (?:of the )?\w+s | different | various | several | corpus-wide | system-wide |
    nationwide | worldwide |
    (?:the|all) (?:documents|reports|files|records|papers|letters|texts|articles|notes|surveys|evaluations|reviews) |
    wherever | whichever | whoever | these (?:documents|reports|files|papers|texts) | network | sector | as a whole |
    (?:regions|countries|departments|sites|teams|programmes|programs|branches|offices|projects|districts|communities) |
    generations? | nowhere | elsewhere | those who | people who | places (?:that|where) | anyone | nobody | no one |
    no matter | regardless | at all levels | on all sides | any given | from place to place |
    in (?:most|many|some|other) (?:places|cases|areas) | over the whole | from start to finish | first to last |
    so far | up to now | to date | since the (?:start|beginning)
    """
)
"""A scope without bounds: all, each, over the years."""

FACT = _cue(
    r"""
    who | whom | whose | when | where | which |
    how (?:many|much|far|old|long|tall|high|deep|big|large|wide|heavy|fast) |
    (?:in|on|at|of|to|for|with) (?:which|whom) | (?:in|on|at) what |
    what (?:time|day|date|year|month|age|size|price|number|name|share|percentage|proportion|sum|amount|colou?r|title) |
    what (?:post|speed|rate|figure|code|brand|model|make|position|rank|town|city|street|country|company|firm|school) |
    what (?:kind|fee|cost|length|height|weight|depth|distance|temperature|value|total|salary|job|did \w+ cost)
    """
)
"""A question word that one fact answers."""

ATTRIBUTE = _cue(
    r"""
    names? | named | called | numbers? | serial | codes? | date | dates? | day | month | hour | time | age | aged |
    price | costs? | fee | charged? | sum | amount | total | figure | size | weight | height | length | width |
    depth | distance | speed | rate | rated | percentage | per cent | percent | share | proportion | score | tally |
    count | votes? | quantity | capacity | level | reading | temperature | volume | area | population | salary |
    wages? | budget | value | invoice | reference | address | street | phone | telephone | email | title | rank |
    attendance | doses? | metres? | meters? | kilometres? | miles? | km | kilos? | kg | litres? | tonnes? | exact |
    exactly | precise | precisely | manufacturer | maker | supplier | donor | owner | author | brand | model | make |
    turnover | duration | deadline | birthday | location | position | colou?r | threshold | maximum | minimum |
    eldest | oldest | youngest | largest | smallest | highest | lowest | longest | shortest | departure | arrival |
    number plate | plate | successor | predecessor | chairman | chairwoman | chair | director | wage | paid | bought |
    sold | signed | spent | how many | how much | quote | cited | date of | interest | tariff | ratio | dimensions? |
    diameter | thickness | voltage | yield | output | grade | mark | marks | seats? | staff of | crew of | balance |
    pay | earn(?:s|ed|ings)? | income | leader | led | head of | boss | captain | mayor | manager of | weeks? | days |
    hours | minutes? | seconds? | pages? | count(?:ed)? | tall(?:y|ied) | contribution | grant | loan | deposit |
    offer(?:ed)? | bid | donation | reckon(?:ed|ing) | estimate[sd]? | came (?:top|first|last|second) |
    the (?:most|least) \w+ (?!\w+s\b)\w+ | person | man who | woman who | (?:man|woman|firm|company|one) that |
    in charge | responsible for | behind the | put in | born | expiry | opening | closing | closure | wedding |
    surname | nickname | initials | birthplace | destination | origin | ingredient | material | signature | password |
    licence | frequency | gauge | pressure | altitude | latitude | longitude | radius | perimeter | bed | beds |
    floor | storeys? | dozen | half | quarter | third | double | twice | nationality | profession | employer |
    qualification | mileage | quota | headcount | enrolment | membership | circulation | fare | toll | penalty |
    bonus | pension | subsidy | discount | instalment | rent | debt | profit | surplus | deficit | tax | duty |
    batch | edition | chapter | paragraph | clause | issue | postcode | room | platform | gate | seat | row | shelf |
    weigh(?:s|ed)? | measure[sd]? | amount(?:s|ed)? to | located | situated | manufactured | dated | numbered |
    priced | how often a | per | each (?:day|week|month|year) | wide | tall | long is | deep | kind of | type of |
    sort of | breed | species | tons? | grams? | inch(?:es)? | feet | foot | acres? | hectares? | degrees? | watts? |
    volts? | bars?
    """
)
"""An attribute that has one value."""

OPEN = _cue(
    r"""
    why | how (?:did|do|does|is|was|were|are|has|have|had|come|well|so) |
    tell (?:me|us) (?:about|of|more|what|how|why) | what (?:happened|became|went|came|stood|led|brought|caused|held) |
    what (?:do|did) (?:we|you|they|people|the) | sort of (?:person|man|woman|place) | describe | description |
    explain | explanation | summari[sz]e | summary | account of | an account | story | background | news |
    anything (?:on|about|of|written|known|said) | fortunes? | fate | situation | state of | conditions? | life |
    history | experiences? | outcomes? | aftermath | success(?:es)? | failures? | failings | setbacks | results? |
    difficult(?:y|ies) | troubles? | problems? | complaints? | complain | gripes? | achievements? | frustrations? |
    ups and downs | strengths | weak (?:spots|points) | weaknesses | struggles? | thrive | go wrong | went wrong |
    gone wrong | work(?:ed)? out | doings? | arguments? | argue[sd]? | conduct | views? | character | circumstances |
    reasons? | causes? | progress | impressions? | opinions? | in what shape | profile | portrait | details? |
    like to (?:hear|know|learn) | turn(?:ed)? out | came of | come of | brought (?:it|them|her|him) | hampered |
    unhappy | happy | verdict | worr(?:y|ies|ied) | hitches | hopes? | fears? | memories | look(?:s|ed)? back |
    (?:what|how) (?:it|this|that|he|she) (?:is|was) (?:about|like) | (?:is|was) it about |
    in a few (?:words|sentences) | walk me through | set out | made? of (?:it|the|this|her|his) | sees? it | saw it |
    thinks? of | thought of | been up to | any good | worth (?:it|the) | (?:so|too) (?:\w+) | such an? | so little |
    stop(?:ped)? from | what is (?:known|said|written|on record) | what does it say | learn(?:t|ed) | findings? |
    report(?:ed)? (?:about|on|of) | consequences | effects? | impact | challenges | obstacles | lessons? |
    reputation | reactions? | received | fared? | getting on | coping | run into | standing | career | contribution |
    what was it like | at stake | controvers(?:y|ial) | disputed? | mood | atmosphere | everyday | daily | reception |
    criticisms? | criticised | praised? | regrets? | motives? | motivation | purpose | aims? | goals? | significance |
    importance | meaning | message | tone | main points | gist | contents | particulars | facts about | notes on |
    events | incident | episode | course of | developments? | downfall | decline | recovery | collapse | routine |
    personality | temperament | attitude | feelings | feel | felt | manage[sd]? | cope[sd]? | handle[sd]? |
    deal(?:t)? with | respond(?:ed)? | hear about | anything else | what else | in practice | in detail | run down |
    rundown | fallout | repercussions | drawbacks? | advantages? | benefits? | pros and cons | concerns? | doubts? |
    objections? | hardships?
    """
)
"""An ask for what is said of something, in as many words as it takes."""

LINK = _cue(
    r"""
    links? | linked | linking | connect(?:s|ed|ion|ions|ing)? | relat(?:ed|e|es|ion|ions|ionship|ionships) | between |
    ties? | tied | compare[sd]? | comparisons? | comparing | contrast(?:s|ed)? | versus | vs |
    differ(?:s|ed|ence|ences)? | different from | similar | similarit(?:y|ies) | in common | common to | same | both |
    either | neither | alike | agree[sd]? | disagree[sd]? | agreement | disagreement | clash(?:es|ed)? | conflict |
    quarrel | dispute | contradict\w* | lead to | led to | leads to | one another | each other | together |
    come from | comes from | came from | grew out of | out of | the one | the other | the two | the three | follows? |
    followed | succeed(?:s|ed)? | replace[sd]? | take over | took over | taken over | inherit(?:s|ed)? | gave way |
    give way | against | beside | alongside | set apart | in between | beyond | to do with | goes? back to |
    went back to | become the | family | kin | kinship | relatives? | cousins? | siblings? | role in | part in |
    affect(?:s|ed)? | influence[sd]? | end(?:ed)? in | contribute[sd]? to | caused | result(?:ed)? in | steps? into |
    stepped into | overlap | belongs? to | associat\w+ | cross(?:ed)? paths | reach the | meet | met | shared? |
    pass(?:ed)? (?:from|between) | hand(?:s|ed)? over | end up (?:in|with|at) | ended up (?:in|with|at) | bearing on |
    touch(?:ed)? | back and forth | as against | apart | unlike | copied | owes? | owed | stand between | cause[sd]? |
    came? to be in | come to | came to | on (?:what|good|bad|which) terms | jointly | steps from | on the way |
    thread | worked with | work with | better than | worse than | rather than | whereas | counterparts? | rivals? |
    rivalry | all(?:y|ies) | partners? | partnership | colleagues? | friends? | enem(?:y|ies) | brothers? | sisters? |
    father | mother | son | daughter | uncle | aunt | niece | nephew | cousin | in-law | heir | descend(?:s|ed) from |
    derived? from | (?:named|called) after | based on | modelled on | in response to | in return | exchange[sd]? |
    swapped | traded | lent | borrowed | opposed | coincid\w+ | correlat\w+ | parallels? | resembl\w+ |
    match(?:es|ed)? | square with | consistent with | at odds | hand in hand | chain | trace |
    (?:path|route|way|road) from | joined | joins | mutual | common ground | cooperat\w+ | co-operat\w+ |
    collaborat\w+ | compet\w+ | side by side | for each other | of the two
    """
)
"""What joins, parts or compares things."""

YES_NO = re.compile(r"^\W*(?:do|does|is|are|has|have|will|would|should|can|could|may|might)\b(?! (?:you|i|we)\b)", re.I)
"""Whether something is so."""
YES_NO_THEN = re.compile(r"^\W*(?:did|was|were|had)\b", re.I)
"""Whether something was so once."""
PRESENT = re.compile(r"\b(?:do|does|are|is|has|have|gets?|keeps?|comes?|tends?|goes|fails?|happens?|stays?)\b", re.I)
_AUXILIARIES = "do|did|are|were|have|had|can|could|will|would|should|may|might|must|happened|became"
SINGLE = re.compile(rf"\b(?:an?|someone|somebody|(?:which|what) (?!\w+s\b|(?:{_AUXILIARIES})\b)\w+)(?= \w)", re.I)
"""One of its kind: "a manager", "which firm"."""
DEFINITE = re.compile(r"\b(?:the|this|that|his|her)(?=\s+\w)", re.I)
ASIDE = re.compile(r"(?:\band|[,:])\s+(?:its|his|her|their)\b", re.I)
"""A thing with what is asked of it set beside: "X and its troubles"."""

_THING = r"(?:X\b|(?:the|this|that)\s+\w+)"
_SOME_WORDS = r"[^,:?.;]{0,30}?"
_JOIN = r"(?:and|or|versus|vs|against|with|after|beside|to)"
_ASKED = r"(?:how|what|why|where|which|who|their|any|the)"
PAIR = re.compile(
    rf"{_THING}{_SOME_WORDS}\b{_JOIN}\s+(?:(?:the|its|a)\s+\w+\s+(?:\w+\s+)?)?{_THING}"
    rf"|^\W*{_THING}{_SOME_WORDS},\s*{_THING}"
    rf"|^\W*(?:\w+['’]?\s+){{1,4}}(?:and|versus|vs|against)\s+(?:\w+['’]?\s+){{0,4}}\w+\s*[,:]\s*{_ASKED}\b",
    re.I,
)
"""Two things side by side, names being `X`: "the X and the Y"; or before what is asked: "this and that: how"."""

_PER = r"(?:cent|day|week|month|year|hour|head|person|piece|trip|kilo|litre)"
UNIT = re.compile(rf",\s+(?:in|per|the|an?)\s+(?:\w+\s+)?\w+\W*$|\((?:\w+\s+)?\w+\)\W*$|\b(?:per|an?)\s+{_PER}\b", re.I)
"""What an amount is counted in, often last: "in metres", "a week"."""
