"""From files to a published revision: read, chunk, extract, embed, stage, publish."""
