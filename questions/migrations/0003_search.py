import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

MAKE = {
    "sqlite": "CREATE VIRTUAL TABLE questions_searchtext USING fts5(words)",
    "postgresql": "CREATE INDEX questions_searchtext ON questions_searchdocument"
                  " USING gin (array_to_tsvector(string_to_array(words, ' ')))",
}
DROP = {"sqlite": "DROP TABLE questions_searchtext", "postgresql": "DROP INDEX questions_searchtext"}


def make_full_text(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    editor.execute(MAKE[editor.connection.vendor])


def drop_full_text(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    editor.execute(DROP[editor.connection.vendor])


class Migration(migrations.Migration):

    dependencies = [
        ('questions', '0002_number_cards'),
    ]

    operations = [
        migrations.CreateModel(
            name='SearchWord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('word', models.CharField(max_length=60, unique=True)),
                ('stem', models.CharField(db_index=True, max_length=60)),
                ('count', models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='SearchDocument',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('questions', 'Question'), ('labs', 'Lab'), ('flags', 'Flag'), ('numbers', 'Number'), ('terms', 'Term')], max_length=9)),
                ('slug', models.CharField(max_length=100)),
                ('title', models.CharField(max_length=200)),
                ('line', models.TextField(blank=True)),
                ('about', models.CharField(blank=True, max_length=100)),
                ('words', models.TextField()),
                ('counts', models.JSONField(default=dict)),
                ('lengths', models.JSONField(default=list)),
                ('phrases', models.JSONField(default=list)),
                ('terms', models.JSONField(default=list)),
                ('digest', models.CharField(max_length=64)),
                ('note', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='questions.note')),
                ('question', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='questions.question')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('kind', 'slug'), name='one_document_each')],
            },
        ),
        migrations.RunPython(make_full_text, drop_full_text),
    ]
