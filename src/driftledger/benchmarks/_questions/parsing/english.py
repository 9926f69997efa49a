"""How English refuses, hedges and commits itself: patterns over one clause, in lower case, contractions written out.

Words stand apart by `` | ``, and ``{NAME}`` stands for any of the words of that name. Elsewhere a line is a pattern;
one that begins with ``|`` or is indented goes on with the line before.
"""

WORDS = {
    "CAN": r"""
        can | could | would | will | may | might | should""",
    "ADVERB": r"""
        (?:(?:\w{2,14}ly|really|even|possibly|just|yet|quite|also|currently|either|so|very|rather|entirely|100%
        |always|ever|easily|with (?:any )?(?:certainty|confidence|precision)) ){0,2}""",
    "CANNOT": r"""
        (?:can|could) {ADVERB}(?:not|never|hardly|barely)
        (?:am|are|is|be|was|being|feel) (?:simply |really |just |currently )?(?:not (?:yet )?(?:able|capable
        |in a position|qualified|equipped|allowed|permitted|authorized|comfortable|willing|going|prepared|trained
        |designed|programmed)|unable|incapable|unwilling)(?: (?:to|of|for))?
        unable to|incapable of|not (?:able|capable|allowed|permitted) (?:to|of)
        (?:will|would) (?:rather |prefer )?not(?: to)?(?! (?:choose|pick|select|guess (?:it|that)))
        (?:would|had) (?:rather|prefer) not(?: to)?
        (?:do|does|did) not (?:know how|(?:have|possess) (?:the|any) (?:ability|means|way|capability|capacity|tools
        |possibility)) to
        (?:lack|lacks) the (?:ability|means|capability|capacity|tools) to
        (?:am|are|is|was) having (?:trouble|difficulty|a hard time)
        (?:have|has|had) (?:trouble|difficulty|a hard time|difficulties)
        (?:fail|fails|struggle|struggles|failed|struggled) to""",
    "KNOW": r"""
        know | tell | say | state | answer | see | determin(?:e|ing) | identify | confirm | verify | infer
        conclude | judge | decide | discern | distinguish | recogni[sz]e
        make (?:it |this |that |them |anything )?out | read | decipher | count | measure | calculate | compute
        estimate | quantify | predict | foresee | guess | speculate | specify | pinpoint | pin down | establish
        ascertain | provide | give | offer | describe | assist | help | comment | perceive | hear | smell | taste
        feel | detect | gauge | assess | evaluate | find | spot | locate | view | access | interpret | analy[sz]e
        figure | name | work (?:it |this |that )?out | deduce | derive | draw | choose | pick | select
        put a number | comprehend | justify | consider | understand | explain | look | list | observe | notice
        process | make (?:a|an|any|that|this|such|assumptions?)
        be (?:sure|certain|determined|told|known|confident|definitive|of help) | reach a | come to a | offer
        clarify | gather | respond | fulfil+ | reveal | learn | discuss | engage | do (?:that|this|so)
        rule (?:it |that )?out | differentiate | classify | categori[sz]e | assume | settle | share | extract
        transcribe | translate | listen | experience | sense | touch | convey | capture | express | link
        connect | associate | match | relate | visuali[sz]e | resolve | examine | inspect | forecast | date
        attribute | trace""",
    "KNOWING": r"""
        knowing | telling | saying | determining | identifying | confirming | verifying | inferring | judging
        deciding | finding out | reading | counting | measuring | estimating | predicting | guessing | hearing
        seeing | making out | answering | ascertaining | establishing | discerning | calculating | figuring
        recogni[sz]ing | quantifying | being (?:sure|certain)""",
    "KNOWN": r"""
        known | told | said | stated | answered | seen | determined | identified | confirmed | verified | inferred
        concluded | judged | decided | discerned | distinguished | recogni[sz]ed | made out | read | deciphered
        counted | measured | calculated | computed | estimated | quantified | predicted | foreseen | guessed
        specified | pinpointed | established | ascertained | provided | given | described | perceived | heard
        smelled | smelt | tasted | felt | detected | gauged | assessed | evaluated | found | spotted | located
        viewed | accessed | interpreted | figured out | named | worked out | deduced | derived | drawn | observed
        obtained | told apart | gathered | resolved | displayed | certain | sure | definitive | discovered | gleaned
        extracted | understood | clarified | learned | noticed | conveyed | captured | read off | picked out
        deduced | anticipated | visible | clear | assumed | settled | shown | pinned down | traced""",
    "SHOWS": r"""
        show | tell | say | provide | give | contain | include | indicate | specify | mention | reveal | state
        depict | display | offer | feature | capture | convey | let | allow | help | suggest | carry | have
        present | disclose | make (?:it )?clear | answer | explain | identify | permit | hold | clarify | address
        cover | supply | portray | list | record | illustrate | communicate | describe | match
        seem to (?:show|contain|have|include) | appear to (?:show|contain|have|include) | come with | lend | point
        hint | give away | establish | confirm | support | express | transmit | define | note""",
    "IMAGE_WORD": r"""
        images? | pictures? | photos? | photographs? | pics? | screenshots? | scenes? | illustrations? | frames?
        graphics? | views? | snapshots? | imagery | visuals? | stills? | footage | captions? | passages? | contexts?
        problems? | materials? | data | information | input | options?""",
    "IMAGE": r"""
        (?:(?:the|this|that|a|an|your|these|such|any|one|single|given|provided|supplied|attached|available|current
        |still|static|silent|mere|two-dimensional|visual) ){0,3}{IMAGE_WORD}(?: (?:alone|itself|here|provided|given
        |shared|in question|you (?:shared|provided|sent|uploaded)))?""",
    "SUBJECT": r"""
        (?<!in )(?<!of )(?<!on )(?<!in the )(?<!of the )(?<!on the )(?<!in this ){IMAGE}""",
    "IN_IMAGE": r"""
        (?:in|on|from|by|within|of|anywhere in|at|based on|through|inside|here in|judging from
        |to) (?:looking at |seeing |checking |viewing )?{IMAGE}""",
    "HERE": r"""
        {IN_IMAGE} | here | anywhere | clearly
        (?:from|at|in) (?:this|that|the (?:current|given|camera'?s?)) (?:angle|view|viewpoint|perspective|position
        |distance|size|resolution|crop|cropped view|shot|scene|frame)
        to me | at all | enough | alone""",
    "NEXT": r"""
        (?= ?(?:$|[.,;:!?)]|(?:who|whom|whose|what|which|where|when|why|how|whether|if|that|from|in|on|at|to {KNOW}
        |to (?:me|us|viewers)|as|because|due|since|for|and|or|by|based|given|with|without|here|until|beyond|of|about
        |exactly|so|than|enough)\b))""",
    "INFO": r"""
        (?:[\w-]+ ){0,2}(?:information|infos?|data|details?|contexts?|evidence|clues?|indications?|indicators?|hints?
        |mention|landmarks?|metadata|means|basis|reference|scale|cues?|knowledge|specifics|audio|proof|explanation
        |conclusion|consensus|references?|descriptions?|clarity|(?<=known )case)""",
    "INFO_END": r"""
        (?= ?(?:$|[.,;:!?)]|(?:about|on|to|of|for|in|here|that|available|given|which|as|regarding|concerning|is|are
        |was|from|provided|present|shown|who|what|how|why|where|when|whether|with|within|can|could|anywhere|at
        |exists?|beyond|has|have|indicating|suggesting|besides|by|we|i|needed|necessary|required)\b))(?! (?:on|of
        |from|by) the (?:phone|line|door|wall|desk|counter|road|left|right))""",
    "WH": r"""
        who | whom | whose | what | which | where | when | why | how | whether | if""",
    "US": r"""
        i | we | you | one | anyone | anybody | people | viewers? | the viewer | an ai(?: model| assistant)? | ai
        nobody | no one | none of us | a person | this model | the model | any person | observers?""",
    "THE_QUESTION": r"""
        (?:this|that|it|the|your) ?(?:question|problem|answer|result|outcome|matter)?""",
    "SENSED": r"""
        sound | sounds | audio | smell | smells | odou?rs? | scents? | taste | tastes | flavou?rs? | noise
        temperature | texture | music | voices? | olfactory \w+""",
    "NOT_POSITIVE": r"""
        (?!(?:{ADVERB})(?:not|no|never|un(?:clear|known|certain|able)|im(?:possible)|difficult|hard|tough|tricky
        |hidden|too|nothing|insufficient|just an?|only an?
        |an? (?:still |static |single |mere |silent )?(?:{IMAGE_WORD}|guess|matter|question)\b|illegible|anyone
        |in(?:sufficient|determinate)|challenging|blurr|possible that|possible to|like that|(?:covered|obscured|cut
        |cropped|blocked|turned)|too|outside|beyond|speculat|pure|mere|many|several possibil|what|where|why|how|who
        |whether|so |that ))""",
}
REFUSES = {
    "who can tell": r"""
        (?:^|\b(?:so|but|then|however|therefore|as|because|since|unfortunately|sorry|why|thinks?|afraid|apologies
            |also|thus|otherwise|or|of course|hence|means?|sure|ai|model|image|picture|photo|this|while|although
            |though|,) ?,? ?|^[\w' ,-]{0,80}, )(?:{US} )?{ADVERB}{CANNOT} {ADVERB}(?:be able to )?{KNOW}\b(?! (?:but
            |any reason|no reason|why not|it coming|checkmate)\b)
        \b{US} {ADVERB}{CANNOT} {ADVERB}(?:be able to )?{KNOW}\b(?! (?:but|any reason|no reason|why not|it coming
            |checkmate)\b)
        \b(?:nobody|no one|no-one|none of us|no human) {ADVERB}(?:{CAN} {ADVERB}{KNOW}|knows|can)\b
        \b(?:i|we|one|you) (?:can|could) (?:only|merely|at best) (?:guess|speculate|assume|see|process|imagine
            |wonder)\b
        \b(?:i|we) {ADVERB}(?:do|did|would|will) not {ADVERB}(?:know|have (?:access|(?:enough|sufficient|any|the
            |much|that|this|further|more|a|an) )|recogni[sz]e|remember|recall|understand)\b
        ^(?:(?:sorry|unfortunately|well|hmm|ok|no|and|so|but|or|because|as)?[, ]*){ADVERB}(?:do
            |did) not {ADVERB}(?:know|have)\b
        \b(?:i|we) (?:{ADVERB}(?:do|did) not|{ADVERB}(?:can|could) not|(?:am|are) not|fail to|see|saw|find|found
            |spot) {ADVERB}(?:seeing|finding|neither|see|find|spot|notice|observe|locate|detect|perceive|no|nothing
            |think (?:this|that) can be)\b(?! (?:any reason|why|it coming|doubt|reason|problem))
        \b(?:i|we) (?:have|had) (?:absolutely |really |simply )?no (?!doubt|reason|problem|objection|trouble
            |hesitation|question)\w+
        \b(?:i|we) (?:lack|need|require|am missing
            |are missing) (?:(?:the|more|some|any|additional|further|sufficient|enough|that|extra|other|better)
            [ ])+[\w ]{0,20}?(?:information
            |context|details?|data|ability|evidence|knowledge|image|photo|picture|view|background|clues?)\b
        \b(?:i|we|you|one) (?:would |will |'d )?(?:need|have|require|want)(?: to)? (?:know|touch|taste|hear|smell
            |feel|be there|see more|ask|wait|have more|measure|look|try|more)\b
        \b(?:i|we) (?:have not|was not|were not) (?:been )?(?:given|provided|told|shown)\b
        \b(?:i|we) (?:must|have to|need to|should|would like to|am going to
            |will)? ?(?:respectfully |politely )?(?:decline|refuse|abstain|refrain|pass on)\b
        \bi (?:would rather|prefer|would prefer|had better|am|will|would|do
            |want) (?:to )?not (?:to )?(?:want to )?(?:guess|answer|say|speculate|comment|comfortable|guessing
            |speculating)\b
        \bi (?:would|will|could|would just|could just|will only
            |would only) (?:only |just |merely )?(?:be )?(?:guessing|speculating|speculate)\b
        \b(?:have|having|had|has) (?:trouble|difficult(?:y|ies)|a hard time) (?:with )?(?:reading|seeing|telling
            |identifying|making|recogni[sz]ing|viewing|accessing|interpreting|determining|counting)\b
        \b(?:i am|we are|am|are) (?:at a loss|stumped|in the dark|in no position)\b
        \bi (?:give up|pass|abstain)\b|\bhave to pass\b|\bi am clueless\b
        \b(?:we|you|i) (?:are|can|could|am) only (?:shown|see|given|seeing)\b
        \b(?:as|i am|being) (?:just |only |merely )?an? (?:ai|artificial|(?:large )?language model|text[- ](?:based
            |only)|virtual|machine)\b
        \b(?:outside|beyond|exceeds) (?:of )?(?:my|the scope|my scope|the capabilities|what (?:an?|the|this|i|we)
            |what can be)\b
        \bmy (?:capabilities|abilities|training|guidelines|policy|policies|limitations
            |programming)\b[^,]{0,30}\b(?:not|limited|restricted|prevent|restrict|prohibit)\b
        \b(?:it is )?(?:not responsible|not appropriate|inappropriate|irresponsible|unwise) (?:for me )?to\b
        \b(?:please|could you|can you|would you|kindly) (?:please )?(?:provide|upload|share|send|give|supply|attach
            |try|re-?upload|describe|clarify|specify)\b
        \bi (?:could not|would not|wouldn't|couldn't) (?:know|tell you|say|be sure)\b
        \bi do not (?:believe|think) (?:there (?:is|are)|i can|we can|it (?:is|can be)|this (?:is|can be)
            |that can be|the (?:image|picture|photo))\b[^.]{0,60}\b(?:possible|determined|told|answer|tell|say|show
            |shows|image|picture|photo|known|answerable)\b""",
    "what can be told": r"""
        \b(?:can|could) {ADVERB}(?:not|never|hardly) {ADVERB}be {ADVERB}{KNOWN}\b(?! (?:by (?:visitors|the (?:man
            |woman|people))|from the (?!image|picture|photo|figure|angle|camera|frame|scene|view|cover|information
            |given|caption)\w))
        \b(?:has|have|had) not {ADVERB}been {ADVERB}(?:{KNOWN}|indicated|mentioned|disclosed)\b
        \b(?:is|are|was|were|be|being|seems?|makes?|making|made|remains?|become|becomes|becoming|would be|proves?|it
            |them|this|that|^|somewhat|quite|very|too|,) ?(?:it |this |that )?{ADVERB}(?:impossible|not possible
            |not feasible|infeasible|unfeasible|difficult|hard|tough|tricky|challenging|too early|too soon|not easy
            |not practical|impractical|not clear|unclear|not enough|unreliable|not safe|not something|futile
            |too \w+) (?:(?:for|from) [\w ]{1,40}? ?)?(?:to|for) (?:{ADVERB})(?:try to )?(?:{KNOW}
            |be {KNOWN})\b(?! (?:checkmate|birth|way|chase|up))
        \b(?:not|never|hardly) (?:\w+ly )?(?:possible|feasible|doable)\b(?= ?(?:$|[.,;]|(?:from|with|here|based
            |given|because|as|since|in|on|at|due|without)\b))
        \b{KNOWING}\b[\w ,']{0,60} (?:is|are|was|would be|seems) {ADVERB}(?:impossible|not possible|not feasible
            |infeasible|hard|difficult|outside|beyond|not something|unreliable|challenging
            |(?:mere |pure |sheer )?(?:guesswork|speculation|conjecture))\b
        \b(?:an?|the
            |no) (?:exact |precise |accurate |reliable |definitive |definite |specific |correct |full )+
            (?:\w+ ){0,2}(?:is
            |are) (?:not|im) ?(?:possible|available|known|given)\b
        \bno (?:exact|precise|accurate|reliable|definitive|definite|specific|meaningful|possible|clear|certain|sure
            |concrete|right|such|further|other)? ?(?:\w+ ){0,3}(?:can|could|may) (?:\w+ ){0,1}be {KNOWN}\b
        \bno (?:way|means|possibility|chance|method) (?:for (?:me|us|anyone|one) )?(?:to|of|in which|that|by which
            |i can|we can) ?(?:{ADVERB}(?:{KNOW}|{KNOWING}))?\b
        \b(?:there )?(?:is|are) not (?:a|any) (?:way|means|method) (?:for (?:me|us|anyone) )?(?:to|of)\b
        \b(?:there is )?no (?:telling|knowing|saying|answering|indication|mention|evidence|clue|hint)\b(?! (?:off
            |goodbye|that the (?:man|woman|lights?|car)))
        ^(?:sorry |really |absolutely |honestly |i have |we have )*no (?:idea|clue|opinion)\b|^no comment$
        \bmak(?:es|ing) (?:\w+ ){1,5}(?:impossible|difficult|hard|infeasible|unreliable|challenging)\b(?= ?(?:$
            |[.,;]))
        \bno (?:right|concrete|definite|definitive|clear|correct|accurate|possible|single|specific|reliable|certain
            |precise|known|exact) answer\b
        \b(?:detail|resolution|quality|angle|lighting|sharpness|crop|perspective) (?:does|do) not\b
        \b(?:{THE_QUESTION}|it|this|that|answer|question) (?:is|are|was) {ADVERB}(?:not (?:{ADVERB})(?:answerable
            |applicable|clear|possible|known|certain|evident|apparent|obvious|relevant)\b{NEXT}|(?:inapplicable|nonsensical
            |invalid|moot|based on|an? (?:false|open))\b)
        \bit (?:is|was|remains) (?:not |never )(?:\w+ly )?(?:known|clear|certain|possible|apparent|evident|obvious
            |stated|said|given|specified|mentioned|indicated|shown|visible|there|depicted|sure|revealed|noted
            |recorded)\b{NEXT}(?! (?:for|by) )
        \bit (?:does|did) not (?:say|show|tell|specify|mention|indicate|state|help|give|provide|appear (?:in|to be)
            |exist)\b(?= ?(?:$|[.,;!?]|(?:in|on|anywhere|here|so|{WH})\b))
        \b(?:not|no longer|nor) {ADVERB}(?:conveyed|specified|mentioned|stated|indicated|discernible|legible
            |readable|recogni[sz]able|identifiable|identified|explained|listed|documented|public|audible|named
            |distinguishable|evident|apparent|determinable
            |ascertainable|detectable|perceptible|decipherable|answerable|countable|predictable|knowable|inferable
            |measurable|disclosed|pictured|depicted|revealed|noted|visible|shown|displayed|labell?ed|discoverable
            |observable|recorded|provided|apparent|deducible|noticeable|addressed|covered|in (?:the )?(?:frame|view
            |shot|picture|image|photo)|in {IMAGE}|on {IMAGE}|part of {IMAGE}|present|in sight|known|given|included
            |available (?:here|to me|{IN_IMAGE}))\b(?! (?:from the (?!image|picture|photo|angle|camera|frame|current
            |text)|to the (?!eye|camera|viewer)|by (?!the (?:image|photo|picture)|looking|{IMAGE_WORD})|any more
            |anymore|for (?:sale|the|everyone|children|vegetarians)|in (?:a|an|all|any|every|winter|summer|stock
            |the (?:dark|(?:left|right|other|second|first)))|as (?:a|an)|on (?:the|a) (?:left|right|wall|table|menu)
            |yet|until|to (?:be|have))\b)
        \b(?:is|are|was) (?:not|n't) (?:{ADVERB})clear(?: enough)?(?: (?:from|in|to|who|what|which|whether|if|how
            |where|when|why|at|enough|on|due)\b|(?<!glass is not clear)(?<!water is not clear)(?<!sky is not clear)
            (?:$|[.]))
        \b(?:not|only partially|only partly|(?:is|are|was) (?:barely|hardly
            |scarcely)) (?:clearly |fully |really |entirely |quite |very |completely |directly )?(?:visible|legible
            |readable|discernible|recogni[sz]able|shown|seen)\b(?! (?:from the (?!image|picture|photo|angle|camera
            |current)|to the (?!eye|camera)))
        \b(?:{INFO}|{SENSED}|answer|{THE_QUESTION}|which|reading)(?: (?:about|on|of
            |for) [\w ]{1,30})? (?:is |are |was )?{ADVERB}not {ADVERB}available\b
        \b(?:not|never) something (?:that |which )?(?:\w+ ){1,5}(?:can|could|is able|show|convey|be|do)\b""",
    "what is unknown": r"""
        (?:\b(?:is|are|was|were|be|remains?|remain|stays?|seems?|appears?|looks?|still|itself|considered|left
            |largely|thus|:|^|^it) ?(?:\w+ly )?|^)(?:unclear|unknown|(?<!weather is )(?<!looks )(?<!seems )uncertain
            |indeterminate|indeterminable|undetermined|undeterminable|unanswerable|unreadable|illegible
            |undiscernible|indistinct|unidentifiable|unrecogni[sz]able|unspecified|undisclosed|indiscernible
            |unpredictable|unknowable|uncountable|unavailable|inconclusive|unsuitable|indecipherable|unintelligible
            |not applicable|n/a|imperceptible|incalculable|immeasurable|inaudible|innumerable|unmeasurable|undefined
            |invisible|unstated|unresolved)\b{NEXT}(?! (?:and (?:muddy|shy|cold)|to (?:science|the (?:man|woman|public
            |dog|cat|predators))))
        \b{IMAGE_WORD} (?:is|are) (?:silent\b|mute\b|not (?:\w+ly )?(?:capable|able|sharp|clear|detailed|legible|good
            |large|big|bright
            |visible|accessible|in focus|readable))
        \b(?:unsuitable|unusable|unclear|corrupted?|blank) (?:image|photo|picture)\b
        \b(?:anyone's|anybody's|everyone's) guess\b|\bguess is as good as\b|\bonly time will tell\b
            |\bremains? to be seen\b|\bwait and see\b|\bwho knows\b|\bbeats me\b|\bsearch me\b|^idk\b
            |\bnobody knows\b|\bno one knows\b|\b(?:hard|impossible|difficult|tough|cannot) to (?:say|tell|know)\b
            |\bgod knows\b|\bheaven knows\b
        \b(?:would be|is|be|are|amounts? to|remains?) (?:\w+ ){0,2}(?:speculation|speculative|guesswork
            |conjecture)\b|\bwould (?:\w+ )?be (?:\w+ ){0,2}(?:a guess|guessing)\b
        \b(?:much|some|considerable|ongoing|a lot of) (?:debate|controversy|disagreement|uncertainty)\b
        \b(?:too many|several|many|multiple|endless|countless) (?:possibilities|possible answers|interpretations
            |unknowns|variables|factors)\b
        \b(?:depends|depend) on (?:things?|factors?|information|what) [\w ]{0,20}\bnot\b
        \bsilent (?:on|about)\b|\b(?:is|are|remains?|remain
            |stays?) (?:an? |something of an? )?(?:complete |total )?(?:mystery|enigma|unknown quantity)\b{NEXT}
        \b(?:could|might|may|can) be any(?:one|where|thing|body| of)\b
        \b(?:i am|we are) not (?:familiar|aware|acquainted|told|informed)\b|\b(?:that|this|the) {INFO} is (?:private
            |confidential|missing|hidden|lost)\b
        \b(?:vision|sight|looks|appearances?|visual inspection)(?: alone)? (?:will|would|does|do|can|could|is|are) not\b
        \bneither\b[\w ,']{1,40}\b(?:available|known|given|perceptible|audible|visible|shown|present|discernible)\b
        \bmy (?:knowledge|training|training data|data|information|expertise) (?:does|do) not\b
        \b(?:false premise|wrong premise|premise is (?:wrong|false|incorrect|mistaken|flawed))\b
            |\bquestion (?:\w+ ){0,3}(?:assumes|presupposes|presumes|is based on|seems to (?:be|refer|assume)
            |refers to|does not apply|has no answer|asks? about (?:something|an? \w+) (?:that|which|not))\b
        \b(?:not enough|insufficient|too little|inadequate|lack of|lacks?|lacking|little) (?:to (?:go on|tell|say
            |answer|determine|decide)|(?:the )?(?:necessary|required|needed|relevant|sufficient)? ?(?:{INFO}))\b
        \b(?:is|are) (?:insufficient|inadequate|not enough|not sufficient|incomplete|too limited|too vague
            |ambiguous)\b(?= ?(?:$|[.,;]|to\b|for (?:me|us|a |an |any )|in this))
        (?:\bno|^without(?: any| the| more| a| some| additional| further| any further| knowing)?|\bany|\bnot any
            |\bnot have|\bwith no) (?:further |more |additional )?{INFO}{INFO_END}(?<!any answer)
        \bwithout (?:knowing|tasting|hearing|touching|smelling|seeing|measuring|asking|being there|a (?:reference
            |scale|translation|closer|clearer))\b
        ^(?:cannot|can not|could not|do not know|not sure|not certain|no answer|no information|none visible|pass
            |unsure|uncertain|unknown|dunno|skip)\W*$
        \b(?:more|additional|further|extra|other|background) (?:information|context|details?|data|evidence
            |knowledge) (?:is|are|would be|will be|may be|that)? ?(?:\w+ )?(?:needed|required|necessary|not
            |be needed|be required)\b
        \bwould (?:require|need|take) (?:more|additional|further|background|knowledge|information|some|other)\b
        \b(?:have|has|need|needs) to (?:be there|taste|touch|smell|hear|ask|wait|see more)\b|\bwould have to (?:know
            |taste|touch|smell|hear|ask|wait|see|be|guess|look)\b
        \bleaves? (?:it|this|that|the question) open\b|\bopen question\b|\bopen to interpretation\b
        \bnot (?:an )?(?:answerable|determinable)\b|\bnot (?:enough|sufficient) (?:to|for)\b
        \bno (?:\w+ )?(?:measurement|count|comparison|prediction|determination|identification|estimate|inference
            |judge?ment|answer) (?:is|are|can be) (?:possible|made|given|available|drawn)\b""",
    "what the image shows": r"""
        \b{IMAGE} (?:do|does) not (?:talk|speak|(?:\w+ ){1,2}{SENSED})\b|\bnot (?:one of|among|within) my\b|\bi lack\b
        \b(?:requires?|needs?|takes?|calls? for) (?:hearing|listening|tasting|touching|smelling|more than
            |to be (?:heard|tasted|smelled|touched|felt|seen))\b
        \bnot (?:what|how) (?:it|they|he|she|that) (?:taste|smell|sound|feel)s?\b|\bby (?:tasting|hearing|smelling
            |touching)\b
        \bno {IMAGE_WORD} (?:can|could|will|would)\b
        \b{SUBJECT} {ADVERB}(?:(?:do|does|did|can|could|may|would|will) {ADVERB}(?:not|never)
            |fails? to) {ADVERB}(?:\w+ly )?(?:{SHOWS}|be {KNOWN})\b
        \b{IMAGE} {ADVERB}(?:gives?|provides?|offers?|contains?|has|have|shows?|includes?|carry|carries|holds?
            |conveys?|depicts?|displays?|features?|reveals?|bears?
            |supplies) (?:us |me )?(?:absolutely |really )?(?:no|nothing|neither|insufficient|little|only|too little
            |not enough)\b
        \b{IMAGE} (?:lacks?|omits?|is (?:missing|lacking|devoid|silent|without|just|only|merely))\b
        \b(?:nothing|none|neither|nowhere|not one|no part|no element|no detail)\b[\w ,']{0,40} (?:{IN_IMAGE}|here
            |on the (?:label|sign|page|screen|map|plate))\b
        \b(?:nothing|none of (?:that|this|these|them|the (?:options|choices|answers|above|given options
            |alternatives))) (?:is|are|can|could|matches|tells?|says?|seems?|appears?|fits?|applies|indicates?
            |to (?:tell|indicate|suggest|say|go on)|about)\b(?! (?:sitting|seated|wearing|lit|behind|in|of|climbing
            |on|inside|under|there|wrong)\b)
        \b(?:nothing|no (?:detail|element|part|text|sign|object
            |feature)s?) (?:really |clearly |here |else |there )?(?:suggests?|indicates?|tells?|shows?|reveals?
            |points?|says?|hints?|specif\w+)\b
        \bthere (?:is|was) nothing (?:to (?:tell|indicate|suggest|say|go on|show|read)|{IN_IMAGE}|that|which|here)\b
        \b(?:nothing|no (?:text|detail|details|word|words|letters?|writing|logo|label|name|brand|title|date|price
            |number|sign|one|person|object|item)) (?:\w+ ){0,5}?(?:can|could) be {KNOWN}\b
        \b(?:a|an|the|this|one|any|single|mere|still|static) (?:\w+ ){0,2}{IMAGE_WORD}(?: alone)? (?:can
            |could) not\b
        \b{SENSED} (?:(?:is|are) not|can(?:not| not)|(?:do|does) not|(?:is|are) (?:missing|lacking|absent))\b
        \b(?:no|not (?:have|include|contain|provide|convey|capture|carry|record) (?:any )?|without (?:any )?
            |cannot convey|not convey|do not convey) ?{SENSED}\b
        \bvisual (?:information|clues|cues|evidence|data|input) (?:alone |only |provided )?(?:do|does|is|are
            |can) not\b""",
}
"""What a clause says where it refuses."""

NOT_THERE = r"""
        \bno (?:\w+[ ,]){1,6}?(?:is|are|was|were|can|could|appears?|exists?|seems? to be)? ?(?:be )?(?:visible|shown
            |present|seen|depicted|pictured|detected|displayed|portrayed|identifiable|visible|to be seen
            |discernible|available|legible|in (?:the )?{IMAGE_WORD}|in this {IMAGE_WORD})\b(?! (?:from the (?!image
            |picture|photo)|on the (?:table|bench|plate|road|wall)))
        \bthere (?:is|are|was|were|does|do|seems?
            |appears?)(?: to be| not appear to be| not seem to be| appear to be| seem to be)? ?(?:no|not (?:any|a
            |an)|not|never) (?:[\w'-]+[ ,]){1,8}?(?:{IN_IMAGE}|here for me|visible(?= ?(?:$|[.,;]|in|so|and))
            |present|shown|depicted|seen|to be seen|for me to|whose|pictured)
        \bno (?:visible|discernible|legible|readable|identifiable|apparent|recogni[sz]able|such
            |identifiable) [\w' ]{1,30}(?= ?(?:$|[.,;]|(?:in|on|of) (?:the|this|that) (?:image|picture|photo
            |photograph|scene|frame)))
        \bno (?:[\w'-]+ ){1,3}(?:that|which|to) (?:would |could |might |can |will |may )?(?:tell|show|indicate
            |reveal|identify|suggest|confirm|say|determine|help)\b
        \bno existence of\b|\bno sign of\b|\bno trace of\b|\bno such\b
        \b(?:do|does|did|is|are|was|can|could) (?:not|never) (?:\w+ly )?(?:appear|exist|seem to (?:be|appear|exist)
            |occur|figure|feature|be found|be seen|found|seen) ?(?:{HERE})?(?= ?(?:$|[.,;]|{HERE}))
        \b(?:is|are|seems? to be|appears? to be|was|were) (?:absent|missing|not present|lacking|omitted|not included
            |nowhere|hidden(?= ?(?:$|[.,;]))|not there|not part|out of (?:the )?(?:frame|shot|view|picture)
            |outside (?:of )?(?:the )?(?:frame|shot|view|picture|image)|cut off|cropped|obscured|hidden (?:from view
            |behind|by|in|from)|(?:blocked|concealed|obstructed|occluded)(?! by)|turned away from the camera
            |blurred beyond)\b(?! (?:because the|for (?:him|her|them)))(?<!is missing)(?<!are missing)
        \b(?:is|are) (?:absent|missing) (?:from|in) {IMAGE}\b|\b{IMAGE_WORD} is missing\b
        \blies? (?:outside|beyond) (?:of )?(?:the )?(?:frame|picture|image|view)\b
        \btoo (?:many|much|few|large|numerous|dense|crowded) (?:\w+ ){0,3}?to (?:{ADVERB})(?:{KNOW}|be {KNOWN})\b
        \btoo (?:blurry|blurred|dark|small|tiny|faint|far|distant|grainy|pixelated|fuzzy|low|unclear|bright|vague
            |far away|low-resolution|noisy|zoomed in|cropped|out of focus|poor)\b(?= ?(?:$|[.,;]
            |to (?:{ADVERB})(?:{KNOW}|be {KNOWN})|for (?:me|us|anyone)|in (?:this|the) (?:image|photo|picture)))
        \b(?:resolution|quality|lighting|focus|clarity|glare|blurriness) (?:of [\w ]{1,30} )?(?:is|are
            |makes?|prevents?|does) (?:too |not |insufficient|poor|it impossible|it difficult|reading|me|us
            |so |very )
        \b(?:failed|seems to have failed|appears to have failed) to (?:load|display|render|open)\b|\b(?:image|photo
            |picture|it) (?:can|could|did|does) not (?:be )?(?:displayed|loaded|opened|load|display|shown|visible
            |accessible)\b|\bnot (?:visible|accessible|available) (?:or accessible )?to me\b
        \b(?:is|are) covering (?:where|the)\b
        \bwrong direction\b|\bprevents? (?:us|me|anyone|one) from \w+ing\b|\bout of (?:the )?(?:photo|image|picture
            |frame|shot)\b|\blost in the (?:shadows?|dark|blur)\b"""
"""What a clause says where something is not there, or cannot be seen."""

DENIES = r"""
        \b(?:i|we|you) (?:do not|can not|could not) (?:see|find|spot|notice|detect|observe) (?:an?|any|the|no)\b
        \b{SUBJECT} (?:(?:do|does|did) not (?:show|contain|include|depict|feature|have|display
            |portray)|(?:shows|contains|has|depicts) no)\b
        \bnot (?:present|there|visible|shown|depicted|pictured|in {IMAGE})\b"""
"""What makes a clause that refuses one that denies, if nobody's knowledge is spoken of."""

KNOWLEDGE = r"""
        \b(?:tell|determin\w+|say|know\w*|answer\w*|identif\w+|infer\w*|possible|impossible|read|legible|unclear
            |clear(?:ly)?|unknown|specif\w+|{INFO})\b"""

HEDGES = r"""
        \b(?:i|we) (?:am|are|was) (?:still |really |just |honestly |quite |simply )?(?:not(?: \w+ly| 100%| too| so
            | quite| very| that)? (?:sure|certain|confident|positive)|unsure|uncertain)\b
        ^(?:sorry |well |hmm |really |honestly |still |it is |that is |the answer is |answer |and |so )?(?:not(?: \w+ly
            | 100%| too| so| quite| very)? (?:sure|certain)|unsure|uncertain)\b(?!-)
        \b(?:can|could|may|do|is|are) (?:not|hardly) (?:\w+ly )?(?:be (?:\w+ly |100% )?(?:sure|certain|confident)
            |feel sure|say for (?:sure|certain))\b
        \b(?:hard|difficult|impossible|not possible|tough) to be (?:\w+ly )?(?:sure|certain)\b
        \b(?:no way|not a way) to be (?:\w+ly )?(?:sure|certain)\b
        \bit is (?:uncertain|not certain)\b
        \bnot (?:give|provide) (?:an? )?(?:definitive|definite|exact|precise) (?:answer|count|number|name)\b"""
"""What is said by whoever is not sure; beside a commitment it takes nothing back."""

COMMITS = r"""
        ^(?:rather |instead |only |just )?(?:an?|one|two|three|four|five|some) [\w' -]{1,40}$
        \b(?:it|this|that|he|she|they|these|those|there|which|the (?:\w+ ){1,4}?) ?(?:is|are|was|were|looks? like
            |seems? to be|appears? to be|resembles?|must be|has to be|looks?|appears?|seems?|strongly suggests?
            |suggests?|says?|reads?|shows) (?:{ADVERB}(?:probably|most likely|likely|clearly|definitely|certainly
            |perhaps)? ?){NOT_POSITIVE}[\w\"$#\x01]
        \b(?:it|he|she|they|this) {ADVERB}(?:resembles?|wears|holds|carries|leads|lives|comes from|dates from
            |belongs to)\b
        \b(?:most likely|probably|presumably|most probably|in all likelihood|very likely|almost certainly|certainly
            |definitely|surely)\b(?! (?:not|un|im))
        \b(?:i|we)(?: would| will| can| could|'d)? (?:say|guess|estimate|assume|think|believe|suppose|go with|bet
            |lean|choose|pick|suspect|hazard|venture)\b(?! (?:not|so|that can|that cannot|i can|how|who|what|whether
            |there is no|it is (?:not|im|un)))
        \b(?:my|best|educated|rough) (?:best |rough )?(?:guess|estimate|bet)\b
        \b(?:the )?(?:correct |right |final |best )?answer (?:is|would be|must be)\b(?! (?:un|not|in|im|that|anyone
            |beyond|hidden|hard|difficult|cannot))
        \b(?:about|around|approximately|roughly|nearly) (?:\d|a (?:dozen|hundred)|one|two|three|four|five|six|seven
            |eight|nine|ten|twenty|thirty|forty|fifty|hundred)"""
"""What is said by whoever answers."""
