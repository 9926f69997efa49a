"""Questions about images: ask, read or grade the answers, score.

:mod:`.answers` collects, :mod:`.grading` says what each answer is worth, and one module per benchmark scores: MM-SAP
(Wang et al., "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large Language Models in
Perception"), MM-Vet (Yu et al., "MM-Vet: Evaluating Large Multimodal Models for Integrated Capabilities") and MME.
"""
