"""The scenarios that the paper's authors publish: their layout (Appendix E), from files or the Hugging Face Hub."""
