"""Countries by the adjectives and nouns that name their people, so that "a French chemist" leads to
France."""

from __future__ import annotations

_TABLE = """
Afghan: Afghanistan; Albanian: Albania; Algerian: Algeria; American: United States; Andorran: Andorra
Angolan: Angola; Argentine: Argentina; Argentinian: Argentina; Armenian: Armenia; Australian: Australia
Austrian: Austria; Azerbaijani: Azerbaijan; Bahamian: Bahamas; Bahraini: Bahrain; Bangladeshi: Bangladesh
Barbadian: Barbados; Belarusian: Belarus; Belgian: Belgium; Belizean: Belize; Beninese: Benin
Bhutanese: Bhutan; Bolivian: Bolivia; Bosnian: Bosnia and Herzegovina; Brazilian: Brazil
British: United Kingdom; Bruneian: Brunei; Bulgarian: Bulgaria; Burmese: Myanmar; Burundian: Burundi
Cambodian: Cambodia; Cameroonian: Cameroon; Canadian: Canada; Chadian: Chad; Chilean: Chile; Chinese: China
Colombian: Colombia; Congolese: Congo; Croatian: Croatia; Cuban: Cuba; Cypriot: Cyprus
Czech: Czech Republic; Danish: Denmark; Dane: Denmark; Dutch: Netherlands; Ecuadorian: Ecuador
Egyptian: Egypt; English: England; Englishman: England; Eritrean: Eritrea; Estonian: Estonia
Ethiopian: Ethiopia; Fijian: Fiji; Filipino: Philippines; Finnish: Finland; Finn: Finland; French: France
Frenchman: France; Gabonese: Gabon; Gambian: Gambia; Georgian: Georgia; German: Germany; Ghanaian: Ghana
Greek: Greece; Grenadian: Grenada; Guatemalan: Guatemala; Guinean: Guinea; Guyanese: Guyana; Haitian: Haiti
Honduran: Honduras; Hungarian: Hungary; Icelandic: Iceland; Icelander: Iceland; Indian: India
Indonesian: Indonesia; Iranian: Iran; Iraqi: Iraq; Irish: Ireland; Irishman: Ireland; Israeli: Israel
Italian: Italy; Ivorian: Ivory Coast; Jamaican: Jamaica; Japanese: Japan; Jordanian: Jordan
Kazakh: Kazakhstan; Kazakhstani: Kazakhstan; Kenyan: Kenya; Kosovar: Kosovo; Kuwaiti: Kuwait
Kyrgyz: Kyrgyzstan; Laotian: Laos; Latvian: Latvia; Lebanese: Lebanon; Liberian: Liberia; Libyan: Libya
Liechtensteiner: Liechtenstein; Lithuanian: Lithuania; Luxembourgish: Luxembourg
Macedonian: North Macedonia; Malagasy: Madagascar; Malawian: Malawi; Malaysian: Malaysia
Maldivian: Maldives; Malian: Mali; Maltese: Malta; Mauritanian: Mauritania; Mauritian: Mauritius
Mexican: Mexico; Moldovan: Moldova; Monegasque: Monaco; Mongolian: Mongolia; Montenegrin: Montenegro
Moroccan: Morocco; Mozambican: Mozambique; Namibian: Namibia; Nepalese: Nepal; Nepali: Nepal
New Zealander: New Zealand; Nicaraguan: Nicaragua; Nigerian: Nigeria; Nigerien: Niger
North Korean: North Korea; Norwegian: Norway; Omani: Oman; Pakistani: Pakistan; Palestinian: Palestine
Panamanian: Panama; Paraguayan: Paraguay; Peruvian: Peru; Polish: Poland; Portuguese: Portugal
Puerto Rican: Puerto Rico; Qatari: Qatar; Romanian: Romania; Russian: Russia; Rwandan: Rwanda
Salvadoran: El Salvador; Samoan: Samoa; Saudi: Saudi Arabia; Saudi Arabian: Saudi Arabia; Scottish: Scotland
Scotsman: Scotland; Senegalese: Senegal; Serbian: Serbia; Sierra Leonean: Sierra Leone
Singaporean: Singapore; Slovak: Slovakia; Slovene: Slovenia; Slovenian: Slovenia; Somali: Somalia
South African: South Africa; South Korean: South Korea; Soviet: Soviet Union; Spanish: Spain
Spaniard: Spain; Sri Lankan: Sri Lanka; Sudanese: Sudan; Surinamese: Suriname; Swede: Sweden
Swedish: Sweden; Swiss: Switzerland; Syrian: Syria; Taiwanese: Taiwan; Tajik: Tajikistan
Tanzanian: Tanzania; Thai: Thailand; Tibetan: Tibet; Togolese: Togo; Trinidadian: Trinidad and Tobago
Tunisian: Tunisia; Turkish: Turkey; Turkmen: Turkmenistan; Ugandan: Uganda; Ukrainian: Ukraine
Uruguayan: Uruguay; Uzbek: Uzbekistan; Venezuelan: Venezuela; Vietnamese: Vietnam; Welsh: Wales
Welshman: Wales; Yemeni: Yemen; Yugoslav: Yugoslavia; Zambian: Zambia; Zimbabwean: Zimbabwe
"""


def _read(table: str) -> dict[str, str]:
    entries = [entry.split(": ") for line in table.split("\n") for entry in line.split("; ") if entry]
    return {demonym.lower(): country for demonym, country in entries}


DEMONYMS = _read(_TABLE)
"""Country by demonym, the demonym in lower case ("south korean": "South Korea")."""
