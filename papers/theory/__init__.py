"""Results of the papers that no policy needs to run; tests and experiments check against them."""
