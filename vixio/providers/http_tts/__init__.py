"""Any voice that answers an HTTP request with sound: a template says what is sent."""
