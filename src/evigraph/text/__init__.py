"""Language-aware text analysis: names, terms, sentences, languages."""
