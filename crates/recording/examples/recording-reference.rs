//! Prints the handbook's page on recordings.

fn main() {
    print!("{}", slowpath_recording::schema::page());
}
