"""Forms of answers made into grammars: JSON, JSON schemas and GBNF.  For the text worker; hostile input is normal."""
