"""DashScope (Bailian): recognisers and voices over WebSockets, two protocols."""
