"""What other papers on cycles of describing and drawing measure, on the same chains."""
