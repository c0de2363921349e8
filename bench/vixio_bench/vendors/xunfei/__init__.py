"""Stand-ins for the recognisers and voices of Xunfei; what is known of them is in page.md."""
