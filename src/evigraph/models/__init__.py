"""Ports to models (chat, embeddings) and their adapters: offline, ONNX, OpenAI-compatible HTTP."""
