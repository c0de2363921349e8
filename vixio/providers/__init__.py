"""Provider interfaces, and one folder for each vendor behind them."""
