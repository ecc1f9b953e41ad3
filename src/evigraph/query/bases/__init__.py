"""Knowledge bases, and pipelines that question them."""
