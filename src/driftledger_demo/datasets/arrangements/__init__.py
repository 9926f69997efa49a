"""One to three flat shapes on a plain ground, and the one sentence that says all there is to say about them."""
