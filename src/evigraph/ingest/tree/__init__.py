"""Summary trees: what a document says, in ever fewer words (RAPTOR, Sarthi et al., ICLR 2024)."""
