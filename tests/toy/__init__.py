"""A variant from outside the package: attention whose output is gated by the token itself."""
