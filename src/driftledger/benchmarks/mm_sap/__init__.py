"""MM-SAP: does the model answer what it can know, and refuse what it cannot?"""
