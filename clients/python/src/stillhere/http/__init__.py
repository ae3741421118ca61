"""HTTP/1.1 to one server, by connections of our own: the layers of a general client take several times as long as a request."""
