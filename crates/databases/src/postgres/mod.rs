//! PostgreSQL: the server that is started on the stack under test, and the client that speaks to it.
