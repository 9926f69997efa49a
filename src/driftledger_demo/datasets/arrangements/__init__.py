"""One to three flat shapes on a plain ground, and the sentence that says all about them."""
