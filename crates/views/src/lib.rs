//! slowpath's results as text, JSON and one offline HTML page.
